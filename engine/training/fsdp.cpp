#include "engine/training/fsdp.h"

#include "engine/blocks/conventions.h"
#include "engine/config/formats.h"
#include "engine/config/shard_group.h"
#include "engine/parallel/fsdp1.h"
#include "engine/parallel/fsdp2.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

/// On one GPU FSDP2 still has the mixed precision: torchtitan distributed/parallel_dims.py, _mesh_exist. FSDP1 switches
/// to NO_SHARD; litgpt does without (fabric.launch of one device).
bool wraps_on_one_gpu(const Recipe& recipe) {
  if (recipe.precision == Precision::fsdp_bf16) return true;
  return recipe.fsdp_version == 1 && recipe.framework != Framework::litgpt;
}

/// torchtitan config/job_config.py: mixed_precision_reduce is float32 unless said otherwise; composer
/// distributed/mosaic_parallelism.py: get_mixed_precision, DEFAULT.
DType reduction_format(const Recipe& recipe) {
  const bool automatic = recipe.gradient_reduce_dtype == DType::automatic;
  const bool in_fp32 = recipe.framework == Framework::torchtitan || recipe.framework == Framework::llm_foundry;
  return automatic && in_fp32 ? DType::float32 : recipe.gradient_reduce_dtype;
}

/// Shards are reduced once more among the groups, also where there is one alone: _fully_shard.py, HSDPMeshInfo of a
/// mesh of two dimensions. torchtitan's has the second from two groups on (distributed/parallel_dims.py, _mesh_exist).
bool reduces_among_groups(const Recipe& recipe) {
  return is_hybrid(recipe) || (recipe.hybrid_shard_size > 1 && recipe.framework != Framework::torchtitan);
}

ShardedFormats sharded_formats(const Recipe& recipe) {
  // Without mixed precision weights are gathered in their own formats: adapters in fp32 beside weights in 16 bits.
  const bool mixed = recipe.precision == Precision::fsdp_bf16 || recipe.precision == Precision::fp8 ||
                     recipe.activations_dtype != DType::automatic;
  return {mixed ? formats(recipe).computation : DType::automatic, reduction_format(recipe), recipe.offload_parameters};
}

Fsdp1Words fsdp1_words(const Config& config, const Sharding& sharding) {
  const Recipe& recipe = config.recipe;
  const Conventions conventions = conventions_of(recipe, config.model, active_run().settings.legacy_models);
  const bool reentrant = recipe.recomputation != Recomputation::none && recipe.recomputation_reentrant;
  Fsdp1Words words;
  words.shards = sharding.shards;
  words.replicated = sharding.replicated;
  words.stays_gathered = recipe.reshard_after_forward == Reshard::never;
  words.forward_prefetch = recipe.fsdp_forward_prefetch;
  words.inside_recomputation = reentrant && !conventions.shards_what_recomputes;
  words.backward_prefetch = recipe.fsdp_backward_prefetch;
  return words;
}

/// torchtitan models/llama3/infra/parallelize.py, apply_fsdp: with a pipeline weights stay gathered.
Reshard fsdp2_reshard(const Recipe& recipe) {
  const Reshard asked = recipe.reshard_after_forward;
  const bool by_default = asked == Reshard::automatic || asked == Reshard::all_but_last;
  return recipe.pipeline_parallel > 1 && by_default ? Reshard::never : asked;
}

Fsdp2Words fsdp2_words(const Recipe& recipe) {
  const bool reentrant = recipe.recomputation != Recomputation::none && recipe.recomputation_reentrant;
  const bool of_transformers = recipe.framework == Framework::transformers || recipe.framework == Framework::pytorch;
  return {fsdp2_reshard(recipe), reentrant, of_transformers};
}

}  // namespace

std::unique_ptr<ModuleWrapper> make_fsdp(const Config& config) {
  const Recipe& recipe = config.recipe;
  const Sharding sharding{fsdp_shards(recipe), reduces_among_groups(recipe), recipe.expert_parallel};
  if (sharding.shards == 1 && !wraps_on_one_gpu(recipe)) return nullptr;
  const ShardedFormats formats = sharded_formats(recipe);
  if (recipe.fsdp_version == 1) return std::make_unique<Fsdp1>(fsdp1_words(config, sharding), formats);
  return std::make_unique<Fsdp2>(sharding, formats, fsdp2_words(recipe));
}

}  // namespace trainmem
