// Config -> Result: runs the step, folds and reads its tape, adds what lies outside it.
#pragma once

#include "engine/config.h"
#include "engine/peak/stage_runs.h"
#include "engine/result.h"

namespace trainmem {

/// The whole answer. The configuration is valid and modelled (validate.h, modelled.h).
Result estimate(const Config& config);

/// The same where the stages have been run.
Result estimate(const Config& config, StageRuns runs);

}  // namespace trainmem
