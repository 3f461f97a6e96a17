// How many sequences a micro-batch is.
#pragma once

#include "engine/config.h"

namespace trainmem {

/// Sequences in one forward on one GPU: of preferences, a chosen and a rejected one for each pair.
inline Size sequences_of_micro_batch(const Recipe& recipe) {
  return recipe.objective == Objective::dpo ? recipe.micro_batch_size * 2 : recipe.micro_batch_size;
}

}  // namespace trainmem
