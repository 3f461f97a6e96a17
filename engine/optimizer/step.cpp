#include "engine/optimizer/step.h"

#include "engine/tensor/run.h"

namespace trainmem {

namespace {
constexpr const char* place_name = "optimizer";

/// FSDP2 and tensor parallelism each make DTensors of the parameters.
int dtensor_meshes(const Recipe& r) {
  const bool sharded =
      r.data_parallel == DataParallel::fsdp && r.fsdp_version == 2 && r.data_parallel_size * r.context_parallel > 1;
  return (sharded ? 1 : 0) + (r.tensor_parallel > 1 ? 1 : 0);
}
}  // namespace

OptimizerStep::OptimizerStep(const Recipe& recipe, const Formats& formats)
    : in_backward_(recipe.optimizer_implementation == OptimizerImplementation::in_backward),
      clipping_(recipe.gradient_clipping && !in_backward_),
      meshes_(dtensor_meshes(recipe)),
      walk_(recipe.optimizer, recipe.optimizer_implementation, formats.optimizer_states) {
  const Place place(place_name, Component::optimizer_temporaries);
  if (optimizer_facts(recipe.optimizer, recipe.optimizer_implementation).states_at_construction) walk_.make_states();
  if (!in_backward_) return;
  for (const Tensor& parameter : active_run().parameters)
    parameter->gradient_hook = [this](const Tensor& leaf) {
      const Place in_step(place_name, Component::optimizer_temporaries);
      walk_.step_alone(leaf);
      leaf->grad.reset();
    };
}

OptimizerStep::~OptimizerStep() {
  if (!in_backward_) return;
  for (const Tensor& parameter : active_run().parameters) parameter->gradient_hook = nullptr;
}

void OptimizerStep::step() {
  if (in_backward_) return;
  const Place place(place_name, Component::optimizer_temporaries);
  if (clipping_) clip_gradient_norm(meshes_);
  walk_.step();
}

void OptimizerStep::zero_grad() { walk_.zero_grad(); }

}  // namespace trainmem
