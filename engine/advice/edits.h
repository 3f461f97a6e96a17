// What a change of advice does to a configuration. Each returns false if it says nothing new about it; what it makes of
// it may still be invalid or not modelled, which validation tells.
#pragma once

#include <cstdint>

#include "engine/config.h"

namespace trainmem {

/// What else a recipe needs under FSDP: it casts weights itself, where autocast would keep the copies of all blocks
/// until the end of forward; and a loss that takes the head's weight needs it gathered, as the root's group is.
void fit_for_fsdp(Recipe& r);

/// Micro-batches of a `factor`-th as many sequences, 0: of one, in as many more accumulation steps.
bool smaller_micro_batch(Config& c, std::int64_t factor);
bool attention_kernel(Config& c, std::int64_t kernel);
/// Kernels of layers that do not attend, in place of PyTorch's operations.
bool layer_kernels(Config& c, std::int64_t);
bool loss_kind(Config& c, std::int64_t kind);
bool pack_sequences(Config& c, std::int64_t);
/// Of preference tuning.
bool precompute_reference(Config& c, std::int64_t);
bool vllm_sleeps(Config& c, std::int64_t);
bool optimizer_kind(Config& c, std::int64_t kind);
bool optimizer_step(Config& c, std::int64_t kind);
/// A step in backward, which knows no total norm to clip by.
bool step_in_backward(Config& c, std::int64_t);
/// Moments in bf16, by Megatron's precision-aware optimizer.
bool moments_16_bit(Config& c, std::int64_t);
/// Only what recomputes more than now: nothing of what is recomputed in full.
bool recomputation_kind(Config& c, std::int64_t kind);
/// Megatron's norms, and with `mlp` 1 its MLPs too, beside what it recomputes already.
bool recompute_modules(Config& c, std::int64_t mlp);
/// 1F1B in place of a schedule that holds more micro-batches.
bool plain_schedule(Config& c, std::int64_t schedule);
bool bucket_view(Config& c, std::int64_t);
bool distributed_optimizer(Config& c, std::int64_t);
bool sequence_parallel(Config& c, std::int64_t);
bool reshard(Config& c, std::int64_t);
/// ZeRO or FSDP in place of what divides less.
bool shard_states(Config& c, std::int64_t kind);
/// One shard group in place of several that hold the same.
bool shard_over_all(Config& c, std::int64_t);
bool offload_parameters(Config& c, std::int64_t);
/// Weights, gradients and states divided over `factor` times as many GPUs.
bool shard_over_more_gpus(Config& c, std::int64_t factor);
bool split_layers(Config& c, std::int64_t ways);
bool split_experts(Config& c, std::int64_t ways);
bool split_model(Config& c, std::int64_t stages);
bool split_sequence(Config& c, std::int64_t ways);
bool adapters(Config& c, std::int64_t rank);
bool quantised_adapters(Config& c, std::int64_t rank);
/// Autocast in place of fp32.
bool lower_precision(Config& c, std::int64_t);
bool pure_16_bit(Config& c, std::int64_t);

/// A field that is true or false becomes true.
template <bool Recipe::*member>
bool turn_on(Config& c, std::int64_t) {
  if (c.recipe.*member) return false;
  return c.recipe.*member = true;
}

}  // namespace trainmem
