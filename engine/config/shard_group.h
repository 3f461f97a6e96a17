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

}  // namespace trainmem
