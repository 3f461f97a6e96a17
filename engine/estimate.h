// Config -> Result: runs the step, folds and reads its tape, adds what lies outside it.
#pragma once

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

/// The whole answer. The configuration is valid and modelled (validate.h, modelled.h).
Result estimate(const Config& config);

/// The peak alone, with components: the fast path that advice and plans take.
struct Peak {
  Bytes allocated = 0;
  ComponentBytes components{};
  Phase phase = Phase::initialise;
};
Peak estimate_peak(const Config& config);

}  // namespace trainmem
