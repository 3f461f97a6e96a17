#include "engine/optimizer_step.h"

#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule state_rule{"optimizer state", "first and second moment of a weight, kept between steps",
                          "pytorch torch/optim/adam.py: zeros_like(p)"};
constexpr Rule foreach_rule{"_foreach_sqrt", "square roots of all second moments at once",
                            "pytorch torch/optim/adam.py: _multi_tensor_adam, exp_avg_sq_sqrt"};

/// Calls `act` for every parameter, with equal layers repeated.
template <class Act>
void for_each_parameter(Run& run, Act act) {
  std::size_t i = 0;
  while (i < run.parameters.size()) {
    const std::int32_t layer = run.parameter_layers[i];
    const auto found = run.layer_times.find(layer);
    const Repeat repeat(found == run.layer_times.end() ? Size(1) : found->second);
    const Layer scope(layer);
    for (; i < run.parameters.size() && run.parameter_layers[i] == layer; ++i) act(run.parameters[i]);
  }
}

}  // namespace

void OptimizerStep::make_states() {
  Run& run = active_run();
  const Set<Component> component(run.component, Component::optimizer_states);
  for_each_parameter(run, [&](const Tensor& parameter) {
    if (!parameter->grad.defined()) return;
    const DType dtype = formats_.optimizer_states == DType::automatic ? parameter.dtype() : formats_.optimizer_states;
    for (const char* role : {"first moment", "second moment"}) {
      states_.push_back(allocate(parameter.shape(), dtype, {&state_rule, role}));
      note_kept(states_.back(), state_rule);
    }
  });
}

void OptimizerStep::step() {
  Run& run = active_run();
  const Place place("optimizer", Component::optimizer_temporaries);
  if (states_.empty()) make_states();
  if (recipe_.optimizer_implementation != OptimizerImplementation::foreach) return;
  std::vector<Tensor> roots;
  for_each_parameter(run, [&](const Tensor& parameter) {
    if (parameter->grad.defined())
      roots.push_back(allocate(parameter.shape(), states_[2 * roots.size()].dtype(), {&foreach_rule}));
  });
}

void OptimizerStep::zero_grad() {
  for_each_parameter(active_run(), [](const Tensor& parameter) { parameter->grad.reset(); });
}

}  // namespace trainmem
