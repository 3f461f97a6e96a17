// How much of a training run is run, and how it is written to the tape.
#pragma once

#include <cstdint>
#include <limits>

#include "engine/result.h"

namespace trainmem {

/// Steps of a run: the last one is the steady state, for optimizer states exist from the first one on.
inline constexpr std::int32_t step_count = 2;

inline constexpr Bytes no_limit = std::numeric_limits<Bytes>::max();  ///< of StepOptions::enough

struct StepOptions {
  std::int32_t steps = step_count;
  bool short_accumulation = false;  ///< three micro-batches stand for more of them
  bool fold = false;                ///< equal layers and micro-batches once, with repeat marks
  std::int64_t stage = 0;           ///< pipeline stage
  Bytes enough = no_limit;          ///< a run that has reached as many bytes may end before its time
};

}  // namespace trainmem
