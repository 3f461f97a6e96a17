#include "engine/optimizer/step.h"

#include "engine/tensor/run.h"

namespace trainmem {

namespace {
constexpr const char* place_name = "optimizer";
}  // namespace

OptimizerStep::OptimizerStep(const Recipe& recipe, const Formats& formats, int meshes)
    : in_backward_(recipe.optimizer_implementation == OptimizerImplementation::in_backward),
      clipping_(recipe.gradient_clipping && !in_backward_),
      meshes_(meshes) {
  const Place place(place_name, Component::optimizer_temporaries);
  for (const OptimizerPart& part : optimizer_parts(recipe.optimizer)) {
    OptimizerWalk& walk =
        walks_.emplace_back(part, recipe.optimizer_implementation, formats.optimizer_states, recipe.optimizer_rank);
    if (optimizer_facts(part, recipe.optimizer_implementation).states_at_construction) walk.make_states();
  }
  if (!in_backward_) return;
  for (const RegisteredParameter& parameter : active_run().parameters)
    parameter.tensor->gradient_hook = [this](const Tensor& leaf) {
      const Place in_step(place_name, Component::optimizer_temporaries);
      for (OptimizerWalk& walk : walks_)
        if (walk.has(static_cast<std::size_t>(leaf->parameter))) walk.step_alone(leaf);
      leaf->grad.reset();
    };
}

OptimizerStep::~OptimizerStep() {
  if (!in_backward_) return;
  for (const RegisteredParameter& parameter : active_run().parameters) parameter.tensor->gradient_hook = nullptr;
}

void OptimizerStep::step() {
  if (in_backward_) return;
  const Place place(place_name, Component::optimizer_temporaries);
  if (clipping_) clip_gradient_norm(meshes_);
  step_parts(walks_);
}

void OptimizerStep::zero_grad() {
  for (const OptimizerWalk& walk : walks_) walk.zero_grad();
}

}  // namespace trainmem
