// One training run of a configuration on one GPU, written to a tape.
#pragma once

#include "engine/config.h"
#include "engine/tape/tape.h"
#include "engine/training/step_options.h"

namespace trainmem {

/// Runs initialisation and `steps` training steps. The configuration is valid and modelled.
Recording run_training(const Config& config, const StepOptions& options);

}  // namespace trainmem
