// Among whom FSDP divides a model's states.
#pragma once

#include "engine/config.h"

namespace trainmem {

/// Which of PyTorch's two implementations shards the model, however many GPUs there are.
inline bool uses_fsdp1(const Recipe& recipe) {
  return recipe.data_parallel == DataParallel::fsdp && recipe.fsdp_version == 1;
}
inline bool uses_fsdp2(const Recipe& recipe) {
  return recipe.data_parallel == DataParallel::fsdp && recipe.fsdp_version == 2;
}

/// Whether groups of the data-parallel GPUs hold the same shards (HSDP).
inline bool is_hybrid(const Recipe& recipe) {
  return recipe.hybrid_shard_size > 0 && recipe.hybrid_shard_size < recipe.data_parallel_size;
}

/// Data-parallel GPUs that share one copy: a group of them, or all.
inline Size shard_group(const Recipe& recipe) {
  return recipe.hybrid_shard_size > 0 ? Size(recipe.hybrid_shard_size) : Size(recipe.data_parallel_size);
}

/// GPUs that share a parameter under FSDP. Context-parallel GPUs hold the same weights: they share the shards, too
/// (torchtitan distributed/parallel_dims.py: dp_shard_cp).
inline Size fsdp_shards(const Recipe& recipe) { return shard_group(recipe) * Size(recipe.context_parallel); }

/// Whether every micro-batch's backward reduces FSDP's gradients. accelerate's Accelerator.no_sync, in which
/// transformers' Trainer runs all backwards but the last, calls no_sync of FSDP1 and set_requires_gradient_sync(False)
/// of FSDP2; loops of torchtitan (train.py) and torchtune (recipes/full_finetune_distributed.py) leave FSDP2 as it is,
/// and Composer (trainer/trainer.py, FSDP's sync_hook) syncs each. A loop of PyTorch alone: FSDP1 in no_sync, FSDP2 as
/// it is.
inline bool reduces_each_micro_batch(const Recipe& recipe) {
  if (recipe.fsdp_gradient_sync != GradientSync::automatic)
    return recipe.fsdp_gradient_sync == GradientSync::each_micro_batch;
  if (recipe.framework == Framework::llm_foundry) return true;
  return uses_fsdp2(recipe) && recipe.framework != Framework::transformers;
}

}  // namespace trainmem
