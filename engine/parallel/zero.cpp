#include "engine/parallel/zero.h"

#include <utility>

#include "engine/config/deepspeed.h"
#include "engine/config/formats.h"
#include "engine/parallel/zero0.h"
#include "engine/parallel/zero12.h"
#include "engine/parallel/zero3.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule norm_rule{"gradient in fp64", "a gradient while its norm is taken",
                         "DeepSpeed deepspeed/runtime/zero/stage_1_and_2.py: get_grad_norm_direct"};

/// Clipping is a factor multiplied in place: DeepSpeed unscale_and_clip_grads.
Recipe without_clipping(Recipe recipe) {
  recipe.gradient_clipping = false;
  return recipe;
}

}  // namespace

std::unique_ptr<Zero> make_zero(const Recipe& recipe) {
  if (recipe.data_parallel == DataParallel::ddp || uses_bf16_optimizer(recipe)) return std::make_unique<Zero0>(recipe);
  if (recipe.data_parallel == DataParallel::zero3) return std::make_unique<Zero3>(recipe);
  return std::make_unique<Zero12>(recipe);
}

MasterWeights::MasterWeights(const Recipe& recipe, Tensor weights) : weights_(std::move(weights)) {
  weights_->requires_grad = true;
  Run& run = active_run();
  const Set<std::vector<RegisteredParameter>> alone(run.parameters, {{weights_}});
  optimizer_ = std::make_unique<OptimizerStep>(without_clipping(recipe), formats(recipe));
}

void MasterWeights::step(Tensor gradient) {
  weights_->grad = std::move(gradient);
  Run& run = active_run();
  const Set<std::vector<RegisteredParameter>> alone(run.parameters, {{weights_}});
  optimizer_->step();
  weights_->grad.reset();
}

Tensor zero_norm(Size elements) {
  const Tensor wide = allocate({elements}, DType::float64, {&norm_rule});
  return allocate({}, DType::float64, {&norm_rule, "norm"});
}

}  // namespace trainmem
