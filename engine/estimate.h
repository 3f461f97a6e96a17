// Config -> Result: runs the step, folds and reads its tape, adds what lies outside it.
#pragma once

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

/// The whole answer. The configuration is valid and modelled (validate.h, modelled.h).
Result estimate(const Config& config);

}  // namespace trainmem
