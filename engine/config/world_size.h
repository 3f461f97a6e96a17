// How many GPUs a recipe takes.
#pragma once

#include <cstdint>

#include "engine/config.h"

namespace trainmem {

/// data x tensor x pipeline x context; experts are divided among the same GPUs.
inline std::int64_t world_size(const Recipe& recipe) {
  return recipe.data_parallel_size * recipe.tensor_parallel * recipe.pipeline_parallel * recipe.context_parallel;
}

}  // namespace trainmem
