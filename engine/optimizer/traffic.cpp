#include "engine/optimizer/traffic.h"

#include "engine/optimizer/facts.h"

namespace trainmem {

namespace {

constexpr const char* one_pass = "one pass over what the step works on: the least there can be";

// torch/optim/adam.py, _multi_tensor_adam and _single_tensor_adam, statement by statement (p weight, g gradient,
// m and v moments, t temporary; r read, w written):
//   p *= 1 - lr * decay        p r w        t = sqrt(v)              v r, t w
//   m.lerp_(g)                 m r w, g r   t /= bias correction     t r w
//   v *= beta2                 v r w        t += eps                 t r w
//   v.addcmul_(g, g)           v r w, g r   p.addcdiv_(m, t)         p r w, m r, t r
constexpr OptimizerPasses adam_statements{4, 2, 8, 2, 6, "pytorch torch/optim/adam.py: _multi_tensor_adam"};
constexpr OptimizerPasses adam_fused{2, 1, 4, 2, 0, "pytorch aten/src/ATen/native/cuda/fused_adam_utils.cuh"};
// amsgrad: maximum_(largest, v) reads both and writes one; the square root is that of the largest.
constexpr OptimizerPasses amsgrad_statements{4, 2, 11, 3, 6, "pytorch torch/optim/adam.py: _multi_tensor_adam"};
constexpr OptimizerPasses amsgrad_fused{2, 1, 6, 3, 0, "pytorch aten/src/ATen/native/cuda/fused_adam_utils.cuh"};
// torch/optim/sgd.py: p.add_(g, -lr); with momentum b: b *= momentum, b += g, p.add_(b).
constexpr OptimizerPasses sgd_statements{2, 1, 0, 0, 0, "pytorch torch/optim/sgd.py: _multi_tensor_sgd"};
constexpr OptimizerPasses momentum_statements{2, 1, 5, 1, 0, "pytorch torch/optim/sgd.py: _multi_tensor_sgd"};

}  // namespace

OptimizerPasses optimizer_passes(Optimizer optimizer, OptimizerImplementation asked) {
  const bool fused = implementation_of(optimizer, asked) == OptimizerImplementation::fused;
  switch (optimizer) {
    case Optimizer::adamw: return fused ? adam_fused : adam_statements;
    case Optimizer::adamw_amsgrad: return fused ? amsgrad_fused : amsgrad_statements;
    case Optimizer::sgd: return sgd_statements;
    case Optimizer::sgd_momentum: return fused ? OptimizerPasses{2, 1, 2, 1, 0, one_pass} : momentum_statements;
    case Optimizer::none: return {0, 0, 0, 0, 0, ""};
    default: return {2, 1, 2, 1, 0, one_pass};
  }
}

OptimizerPasses optimizer_passes(const Recipe& recipe) {
  const bool fused = recipe.framework == Framework::megatron || recipe.framework == Framework::deepspeed;
  return optimizer_passes(recipe.optimizer, fused ? OptimizerImplementation::fused : recipe.optimizer_implementation);
}

ByComponent<double> optimizer_traffic(const Recipe& recipe, const OptimizerHoldings& holdings) {
  const OptimizerPasses passes = optimizer_passes(recipe);
  ByComponent<double> traffic{};
  if (recipe.optimizer == Optimizer::none) return traffic;
  const double one_state = passes.state_tensors == 0 ? 0 : holdings.states / passes.state_tensors;
  const bool clips =
      recipe.gradient_clipping && recipe.optimizer_implementation != OptimizerImplementation::in_backward;
  traffic[Component::gradients] = holdings.gradients * (passes.gradients + (clips ? clipping_passes : 0));
  traffic[Component::optimizer_states] = one_state * passes.states;
  traffic[Component::optimizer_temporaries] = one_state * passes.temporaries;
  if (holdings.master_weights > 0) {
    traffic[Component::master_weights] = holdings.master_weights * passes.weights;
    traffic[Component::weights] = holdings.trained_weights;
  } else {
    traffic[Component::weights] = holdings.trained_weights * passes.weights;
  }
  return traffic;
}

}  // namespace trainmem
