// Where a recipe starts when only its framework is named: each framework's own defaults.
#include <algorithm>

#include "engine/config/values.h"

namespace trainmem {

namespace {

/// torchtitan config/configs.py and models/*/config_registry.py (b5bcd76c): RMSNorm is PyTorch's one kernel,
/// ChunkedLossWrapper, SelectiveAC, disable_cuda_graphs = False.
void start_torchtitan(Recipe& recipe, TorchtitanRelease release) {
  recipe.precision = Precision::fsdp_bf16;  // fp32 shards, bf16 compute, fp32 reduction; AdamW(fused=True)
  recipe.data_parallel = DataParallel::fsdp;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  recipe.torchtitan_release = release;
  if (release != TorchtitanRelease::current) return;
  recipe.fused_norm = true;
  recipe.loss = Loss::chunked;
  recipe.recomputation = Recomputation::selective_operations;
  recipe.cuda_graphs = true;
}

}  // namespace

Recipe default_recipe(Framework framework, TorchtitanRelease release) {
  Recipe recipe;
  recipe.framework = framework;
  switch (framework) {
    case Framework::pytorch:
    case Framework::transformers: break;  // config.h holds these
    case Framework::torchtitan: start_torchtitan(recipe, release); break;
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
    case Framework::llm_foundry:  // yamls/pretrain; composer utils/parallelism.py: FSDPConfig; DecoupledAdamW's loop
      recipe.precision = Precision::fsdp_bf16;
      recipe.data_parallel = DataParallel::fsdp;
      recipe.fsdp_version = 1;
      recipe.fsdp_backward_prefetch = BackwardPrefetch::backward_post;
      recipe.optimizer_implementation = OptimizerImplementation::for_loop;
      recipe.attention = AttentionKernel::flash;
      recipe.loss = Loss::fused;
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

void start_recipe(Config& config, Framework framework, TorchtitanRelease release) {
  config.recipe = default_recipe(framework, release);
  fit_sequence(config);
}

void start_recipe_of(Config& config, std::string_view framework, std::string_view release, TorchtitanRelease unsaid) {
  const int index = find_word(words(Framework{}), framework);
  if (index < 0) return;
  const int named = find_word(words(TorchtitanRelease{}), release);
  const bool titan = static_cast<Framework>(index) == Framework::torchtitan;
  if (named >= 0) unsaid = static_cast<TorchtitanRelease>(named);
  start_recipe(config, static_cast<Framework>(index), titan ? unsaid : Recipe{}.torchtitan_release);
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
