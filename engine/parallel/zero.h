// DeepSpeed's ZeRO: optimizer states (stage 1), gradients (2) and weights (3) divided over data-parallel GPUs.
//
// Whatever the format of the weights, each GPU steps an fp32 copy of its part of them, one flat tensor with an
// optimizer of its own. ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, arXiv 1910.02054.
#pragma once

#include <memory>

#include "engine/config.h"
#include "engine/optimizer/step.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

class Zero {
 public:
  virtual ~Zero() = default;
  /// The model has been made: divides its weights.
  virtual void wrap() = 0;
  /// Whether the backward that follows is the last one before the optimizer's step. In a pipeline nobody says.
  virtual void set_last_micro_batch(bool /*last*/) {}
  /// A backward has ended.
  virtual void end_backward() = 0;
  /// The step's last backward has ended: reduces what backwards have left.
  virtual void reduce() {}
  virtual void step() = 0;
};

/// Of a recipe that uses it; to be made before the model.
std::unique_ptr<Zero> make_zero(const Recipe& recipe);

/// A flat fp32 part of the weights and its optimizer.
class MasterWeights {
 public:
  MasterWeights(const Recipe& recipe, Tensor weights);
  /// Steps with the gradient given, which goes afterwards.
  void step(Tensor gradient);

 private:
  Tensor weights_;
  std::unique_ptr<OptimizerStep> optimizer_;
};

/// Norm of a gradient, taken in fp64.
Tensor zero_norm(Size elements);

}  // namespace trainmem
