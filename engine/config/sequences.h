// How many sequences a micro-batch is.
#pragma once

#include "engine/config.h"

namespace trainmem {

/// Whether the objective is of answers that were rated before training.
inline bool takes_preferences(const Recipe& recipe) {
  return recipe.objective != Objective::next_token && recipe.objective != Objective::grpo;
}

/// Whether a micro-batch is pairs of a chosen and a rejected sequence.
inline bool takes_pairs(const Recipe& recipe) {
  return takes_preferences(recipe) && recipe.objective != Objective::kto;
}

/// Sequences in one forward on one GPU.
inline Size sequences_of_micro_batch(const Recipe& recipe) {
  return takes_pairs(recipe) ? recipe.micro_batch_size * 2 : recipe.micro_batch_size;
}

/// Tokens of a sequence that the policy wrote; where there are no more, all but the first.
inline Size completion_tokens(const Recipe& recipe) {
  return minimum(recipe.completion_length, recipe.sequence_length - Size(1));
}

}  // namespace trainmem
