// What of DeepSpeed trains a recipe.
#pragma once

#include "engine/config.h"

namespace trainmem {

/// Whether an optimizer of DeepSpeed's trains this recipe: a stage of ZeRO, or 16-bit weights with master weights
/// without it. ZeRO on one GPU only if the precision is one of DeepSpeed's own.
bool uses_zero(const Recipe& recipe);

/// Whether BF16_Optimizer does: bf16 without ZeRO, or under stage 1 with gradients in fp32 (data_types:
/// grad_accum_dtype; engine.py: _do_optimizer_sanity_check).
bool uses_bf16_optimizer(const Recipe& recipe);

/// Whether Megatron-DeepSpeed trains a recipe: DeepSpeed beside tensor or pipeline parallelism.
bool uses_megatron_deepspeed(const Recipe& recipe);

}  // namespace trainmem
