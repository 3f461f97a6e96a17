// Part of reading a config.json: the sizes that every class has.
#pragma once

#include <cstdint>

#include "engine/config.h"

namespace trainmem {

/// The sizes of a class; 0: derived from the others.
inline void sizes(Model& model, std::int64_t vocab_size, std::int64_t hidden_size, std::int64_t layers,
                  std::int64_t heads, std::int64_t key_value_heads, std::int64_t intermediate_size,
                  std::int64_t positions) {
  model.vocab_size = vocab_size;
  model.hidden_size = hidden_size;
  model.num_hidden_layers = layers;
  model.num_attention_heads = heads;
  model.num_key_value_heads = key_value_heads;
  model.intermediate_size = intermediate_size;
  model.max_position_embeddings = positions;
}

}  // namespace trainmem
