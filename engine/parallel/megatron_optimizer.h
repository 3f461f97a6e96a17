// Weights, main gradients and optimizer states of one GPU under Megatron-Core.
//
// Bytes a parameter, over d data-parallel (times context-parallel) ranks (Megatron-Core docs, dist_optimizer): bf16
// weights and fp32 main gradients 18, distributed 6 + 12/d; fp16 weights and gradients 20, distributed 4 + 16/d; fp32
// 16 and 8 + 8/d.
#pragma once

#include <vector>

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// Elements of one model chunk's parameters.
struct ChunkParameters {
  Size dense;
  Size experts;  ///< of routed experts
  Size float8;   ///< of the dense ones, those that layers multiply in fp8
};

class MegatronOptimizer {
 public:
  /// Allocates the weights, the gradient buffers and, in mixed precision, the fp32 main weights. Every model chunk has
  /// buffers of its own, and so have its routed experts, divided over fewer ranks.
  MegatronOptimizer(const Recipe& recipe, const std::vector<ChunkParameters>& chunks);

  /// Optimizer states, if they are not there yet.
  void make_states();
  /// Optimizer states appear in the first step.
  void step();
  /// Lets go of the fp32 copies of the gradients.
  void zero_grad();

 private:
  /// Parameters that share buffers, and what the optimizer of this rank has of them.
  struct Group {
    Size buffer;
    Size share;  ///< of the optimizer: all, or a part of the buffer, less what host memory holds
    DType weights = DType::bfloat16;
  };
  void add(Size elements, DType dtype, Component component, const struct Rule& rule);
  void add_group(Size parameters, std::int64_t ranks, DType weights);

  const Recipe& recipe_;
  std::vector<Group> groups_;
  bool mixed_ = false;
  DType state_ = DType::float32;
  bool copies_gradients_ = false;
  int states_ = 0;  ///< numbers a weight
  bool has_states_ = false;
  std::vector<Tensor> tensors_;
  std::vector<Tensor> main_gradients_;
};

/// Ranks that hold the same routed experts: distributed_data_parallel.py, expert data-parallel group.
std::int64_t expert_data_parallel(const Recipe& recipe);
/// Format of the weights and activations of a recipe under Megatron, but for weights of fp8 products.
DType megatron_weights(const Recipe& recipe);
/// Format of the main gradients: fp32 with bf16 weights, else that of the weights.
DType megatron_gradients(const Recipe& recipe);

}  // namespace trainmem
