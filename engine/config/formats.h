// Number formats that a recipe's precision stands for, with what the recipe overrides.
#pragma once

#include "engine/config.h"
#include "engine/dtype.h"

namespace trainmem {

struct Formats {
  DType weights = DType::bfloat16;
  DType computation = DType::automatic;  ///< of gathered weights; automatic: as the weights
  DType autocast = DType::automatic;     ///< automatic: no autocast
  DType optimizer_states = DType::automatic;
};
Formats formats(const Recipe& recipe);

}  // namespace trainmem
