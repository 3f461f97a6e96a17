// Weights, main gradients and optimizer states of one GPU under Megatron-Core.
//
// Bytes a parameter, over d data-parallel ranks (Megatron-Core docs, dist_optimizer): bf16 weights and fp32 main
// gradients 18, distributed 6 + 12/d; fp16 weights and gradients 20, distributed 4 + 16/d; fp32 16 and 8 + 8/d.
#pragma once

#include <vector>

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

class MegatronOptimizer {
 public:
  /// Allocates the weights, the gradient buffer and, in mixed precision, the fp32 main weights.
  MegatronOptimizer(const Recipe& recipe, Size parameters);

  /// Optimizer states, if they are not there yet.
  void make_states();
  /// Optimizer states appear in the first step.
  void step();
  /// Lets go of the fp32 copies of the gradients.
  void zero_grad();

 private:
  void add(const Shape& shape, DType dtype, Component component, const struct Rule& rule);

  const Recipe& recipe_;
  Size share_;  ///< of the optimizer: parameters, or parameters / d
  bool mixed_ = false;
  DType state_ = DType::float32;
  bool copies_gradients_ = false;
  int states_ = 0;  ///< numbers a weight
  bool has_states_ = false;
  std::vector<Tensor> tensors_;
  Tensor main_gradients_;
};

/// Format of the weights and activations of a recipe under Megatron.
DType megatron_weights(const Recipe& recipe);
/// Format of the main gradients: fp32 with bf16 weights, else that of the weights.
DType megatron_gradients(const Recipe& recipe);

}  // namespace trainmem
