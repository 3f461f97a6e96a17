#include "engine/host_memory.h"

#include <algorithm>

#include "engine/peak/peak.h"

namespace trainmem {

namespace {

Bytes model_states(const Peak& peak) {
  Bytes sum = 0;
  for (const Component part :
       {Component::weights, Component::master_weights, Component::gradients, Component::optimizer_states})
    sum += peak.components[part];
  return sum;
}

}  // namespace

Bytes host_memory(const Config& config) {
  if (!config.recipe.offload_parameters && !config.recipe.offload_optimizer) return 0;
  Config at_home = config;
  at_home.recipe.offload_parameters = false;
  at_home.recipe.offload_optimizer = false;
  return std::max<Bytes>(0, model_states(estimate_peak(at_home)) - model_states(estimate_peak(config)));
}

}  // namespace trainmem
