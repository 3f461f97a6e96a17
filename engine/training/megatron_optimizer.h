// Weights, main gradients and optimizer states of one GPU under Megatron-Core.
//
// Bytes a parameter, over d data-parallel (times context-parallel) ranks (Megatron-Core docs, dist_optimizer): bf16
// weights and fp32 main gradients 18, distributed 6 + 12/d; fp16 weights and gradients 20, distributed 4 + 16/d; fp32
// 16 and 8 + 8/d. Muon has one state for a weight where Adam has two.
#pragma once

#include <vector>

#include "engine/blocks/megatron/gpt.h"
#include "engine/config.h"
#include "engine/tensor/tensor.h"
#include "engine/training/layer_wise.h"

namespace trainmem {

using StageWeights = std::vector<StageWeight>;  ///< of one model chunk

class MegatronOptimizer {
 public:
  /// Allocates the weights, the gradient buffers and, in mixed precision, the fp32 main weights. Every model chunk has
  /// buffers of its own, and so have its routed experts, divided over fewer ranks. Folded, what a rank has of a buffer
  /// is one tensor; else every parameter has its own, on the first of the ranks, and beside it on others.
  MegatronOptimizer(const Recipe& recipe, const std::vector<StageWeights>& chunks, bool folded);

  /// Optimizer states, if they are not there yet.
  void make_states();
  /// Optimizer states appear in the first step.
  void step();
  /// Lets go of the fp32 copies of the gradients.
  void zero_grad();

 private:
  /// Parameters that share buffers, and what the optimizer of this rank has of them.
  struct Group {
    DType weights = DType::bfloat16;
    StageWeights parameters = {};  ///< that lie in its buffers
    bool moves = false;            ///< into a buffer of their own; else every weight keeps its memory
    Size buffer = 0;               ///< elements of the gradients', and of that
    /// By rank: elements of each tensor of the optimizer, less what host memory holds.
    std::vector<std::vector<Size>> shards = {};
    int states = 0;  ///< numbers a weight
  };
  void add(Size elements, DType dtype, Component component, const struct Rule& rule);
  /// Parameters whose shards lie on `ranks` ranks: of routed experts fewer than there are, next to each other apart.
  void add_group(StageWeights parameters, std::int64_t ranks, DType weights);
  /// Muon: the chunk's buffers, and what its optimizers have, each of it as one tensor.
  void add_whole_matrices(const StageWeights& chunk, DType weights);
  void add_share(const OptimizerShare& share);
  std::vector<Size> tensors_of(const Group& group) const;
  std::vector<Size> shards_of(const Group& group, const Size& share, std::int64_t rank) const;
  void make_buffers(DType gradients);
  void copy_gradients();  ///< in 16 bits: into fp32
  void make_main_weights();
  /// Orthogonalises the largest matrix; each is let go of before the next one.
  void run_newton_schulz() const;
  template <class Take>
  void for_each_shard(std::size_t rank, Take take) const {
    for (const Group& group : groups_)
      for (const Size& shard : group.shards[rank])
        if (shard > 0) take(shard, group);
  }

  const Recipe& recipe_;
  const bool folded_;
  const bool distributed_;
  const std::vector<std::int64_t> ranks_;  ///< data-parallel, times context-parallel, that are recorded
  std::vector<Group> groups_;
  bool mixed_ = false;
  DType state_ = DType::float32;
  bool copies_gradients_ = false;
  int states_ = 0;       ///< numbers a weight, but of Muon's
  StageWeight largest_;  ///< of Muon's matrices
  Size exchanged_;       ///< elements that the ranks exchange after the step
  bool has_states_ = false;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<Tensor>> main_gradients_;  ///< by rank
};

/// Ranks that hold the same routed experts: distributed_data_parallel.py, expert data-parallel group.
std::int64_t expert_data_parallel(const Recipe& recipe);
/// Format of the weights and activations of a recipe under Megatron, but for weights of fp8 products.
DType megatron_weights(const Recipe& recipe);
/// Format of the main gradients: fp32 with bf16 weights, else that of the weights.
DType megatron_gradients(const Recipe& recipe);

}  // namespace trainmem
