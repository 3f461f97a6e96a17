// What the tests of compiled blocks share: a recorded block's sizes, and what a layer of it keeps.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "engine/tape/fold.h"
#include "engine/training/step.h"

namespace trainmem {

/// The recording's sizes of a block: h hidden, i intermediate, a heads, k key/value heads, d a head.
inline void set_dimensions(const nlohmann::json& dims, Model& model) {
  model.hidden_size = dims["h"].get<std::int64_t>();
  model.intermediate_size = dims["i"].get<std::int64_t>();
  model.num_attention_heads = dims["a"].get<std::int64_t>();
  model.num_key_value_heads = dims["k"].get<std::int64_t>();
  model.head_dim = dims["d"].get<std::int64_t>();
  model.vocab_size = 1000;
}

/// Bytes of the components that one layer more keeps to the end of the forward.
inline Bytes kept_by_a_layer(Config config, std::initializer_list<Component> components = {Component::activations}) {
  Bytes at_end[2] = {};
  for (const int more : {0, 1}) {
    config.model.num_hidden_layers = 4 + more;
    for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2}))) {
      if (phase.step != 2 || phase.phase != Phase::forward) continue;
      at_end[more] = 0;
      for (const Component component : components) at_end[more] += phase.end.components[component];
    }
  }
  return at_end[1] - at_end[0];
}

}  // namespace trainmem
