// A training run of one pipeline stage as Megatron-Core does it: contiguous buffers, main gradients, its mixed
// precision and distributed optimizers, 1F1B.
#pragma once

#include "engine/config.h"
#include "engine/tape/tape.h"
#include "engine/training/step_options.h"

namespace trainmem {

/// Parameters that one GPU of a stage holds.
std::int64_t megatron_parameters(const Config& config, std::int64_t stage);

/// Runs initialisation and `options.steps` training steps of stage `options.stage`. framework is megatron; the
/// configuration is valid and modelled.
Recording run_megatron(const Config& config, const StepOptions& options);

}  // namespace trainmem
