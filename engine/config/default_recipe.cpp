// Where a recipe starts when only its framework is named: each framework's own defaults.
#include <algorithm>

#include "engine/config/values.h"

namespace trainmem {

Recipe default_recipe(Framework framework) {
  Recipe recipe;
  recipe.framework = framework;
  switch (framework) {
    case Framework::pytorch:
    case Framework::transformers: break;  // config.h holds these
    case Framework::torchtitan:           // fp32 shards, bf16 compute, fp32 reduction; AdamW(fused=True)
      recipe.precision = Precision::fsdp_bf16;
      recipe.data_parallel = DataParallel::fsdp;
      recipe.optimizer_implementation = OptimizerImplementation::fused;
      break;
    case Framework::torchtune:  // dtype: bf16, AdamW(fused=True), clip_grad_norm: null
      recipe.precision = Precision::bf16;
      recipe.data_parallel = DataParallel::fsdp;
      recipe.optimizer_implementation = OptimizerImplementation::fused;
      recipe.gradient_clipping = false;
      break;
    case Framework::litgpt:  // finetune/full.py: bf16-true, FSDPStrategy of blocks, AdamW, no clipping, loss in chunks
      recipe.precision = Precision::bf16;
      recipe.data_parallel = DataParallel::fsdp;
      recipe.fsdp_version = 1;
      recipe.fsdp_wrap_embeddings = false;
      recipe.gradient_clipping = false;
      recipe.loss = Loss::chunked;
      break;
    case Framework::megatron:  // --bf16 with its fusions, --make-vocab-size-divisible-by 128
      recipe.precision = Precision::bf16_mixed;
      recipe.optimizer_implementation = OptimizerImplementation::fused;
      recipe.loss = Loss::vocabulary_parallel;
      recipe.vocabulary_multiple = 128;
      recipe.fused_norm = true;
      recipe.fused_mlp = true;
      recipe.fused_rope = true;
      break;
    case Framework::deepspeed:  // bf16 with fp32 master weights, FusedAdam
      recipe.precision = Precision::bf16_mixed;
      recipe.optimizer_implementation = OptimizerImplementation::fused;
      break;
  }
  return recipe;
}

void start_recipe(Config& config, Framework framework) {
  config.recipe = default_recipe(framework);
  fit_sequence(config);
}

void fit_sequence(Config& config) {
  const std::int64_t longest = longest_sequence(config.model);
  if (longest > 0 && longest < config.recipe.sequence_length) config.recipe.sequence_length = longest;
}

std::int64_t longest_sequence(const Model& model) {
  if (model.positions != Positions::learned) return 0;
  if (model.learned_positions <= 0 || model.max_position_embeddings <= 0)
    return std::max<std::int64_t>({model.learned_positions, model.max_position_embeddings, 0});
  return std::min(model.learned_positions, model.max_position_embeddings);  // OPT's table has two more rows
}

}  // namespace trainmem
