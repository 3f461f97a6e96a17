// A training run of one pipeline stage as Megatron-DeepSpeed does it: Megatron's layers, DeepSpeed's pipeline and its
// optimizers.
//
// Between stages travel parts: with tensor parallelism each rank sends its share of a hidden state (pipe_partitioned,
// grad_partitioned: DeepSpeed's defaults), keeps it until the backward, and takes shares together where it needs them.
// What a stage gives away is kept as a graph without storage; the last stage's logits stay until their buffer is
// written again, two micro-batches on. The order is 1F1B.
// Source: DeepSpeed edaa722 deepspeed/runtime/pipe/engine.py, schedule.py (TrainSchedule), module.py, and
// runtime/utils.py (PartitionedTensor).
#pragma once

#include "engine/config.h"
#include "engine/tape/tape.h"
#include "engine/training/step_options.h"

namespace trainmem {

/// Parameters that one GPU of a stage holds.
std::int64_t megatron_deepspeed_parameters(const Config& config, std::int64_t stage);

/// Runs initialisation and `options.steps` training steps of stage `options.stage`. The configuration is valid and
/// modelled, and runs so.
Recording run_megatron_deepspeed(const Config& config, const StepOptions& options);

}  // namespace trainmem
