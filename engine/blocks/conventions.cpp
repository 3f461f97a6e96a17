#include "engine/blocks/conventions.h"

namespace trainmem {

namespace {

/// transformers' layers recompute inside their own call since 4.52 (modeling_layers.py:
/// GradientCheckpointingLayer.__call__): so does what FSDP1 wraps, but FSDP2's hooks run inside that call. In earlier
/// releases the model recomputed the call of the wrapped layer (modeling_llama.py: LlamaModel.forward).
Conventions of_transformers(const Recipe& recipe, bool legacy_models) {
  Conventions result;
  const bool wraps_first = recipe.framework == Framework::pytorch;
  result.shards_what_recomputes = recipe.fsdp_version == 1 && (wraps_first || !legacy_models);
  result.compiles_loss = recipe.compile_loss;
  return result;
}

/// infra/parallelize.py: apply_ac before apply_fsdp. The whole forward runs again since August 2025
/// (ActivationCheckpoint.early_stop), as torchtitan has experts. components/loss.py: ChunkedLossWrapper.
Conventions of_torchtitan(const Recipe& recipe, const Model& model) {
  const bool today = recipe.torchtitan_release == TorchtitanRelease::current;
  Conventions result;
  result.shards_what_recomputes = true;
  result.recomputation_stops_early = model.experts.num_experts == 0 && !today;
  result.differentiates_chunks = today;
  result.compiles_loss = recipe.compile_loss;
  return result;
}

/// recipes/full_finetune_distributed.py: _setup_model; modules/peft/lora.py; modules/attention.py:
/// MultiHeadAttention.forward expands key and value; modules/transformer.py: TransformerDecoder.unembed,
/// chunked_output. The recipes drop the compiled loss that compile_loss() returns, all but
/// lora_finetune_single_device.py (full_finetune_single_device.py, full_finetune_distributed.py: setup).
Conventions of_torchtune(const Recipe& recipe) {
  Conventions result;
  result.shards_what_recomputes = true;
  result.makes_adapters_with_layers = true;
  result.repeats_heads = true;
  result.returns_fp32_logits = true;
  result.compiles_loss = recipe.compile_loss && recipe.lora.rank > 0 && recipe.data_parallel_size == 1;
  return result;
}

/// lightning fabric/strategies/fsdp.py: _setup_activation_checkpointing; litgpt/utils.py: chunked_cross_entropy.
Conventions of_litgpt(const Recipe& recipe) {
  Conventions result;
  result.shards_what_recomputes = true;
  result.makes_logits_in_chunks = false;
  result.compiles_loss = recipe.compile_loss;
  return result;
}

/// composer distributed/dist_strategy.py: prepare_fsdp_module wraps first and recomputes inside; llm-foundry
/// models/mpt/modeling_mpt.py: MPTForCausalLM (_fsdp_wrap of the children), ComposerMPTCausalLM.loss.
Conventions of_llm_foundry() {
  Conventions result;
  result.shards_what_recomputes = true;
  result.shards_every_child = true;
  result.has_its_own_loss = true;
  return result;
}

}  // namespace

bool uses_cuda_graphs(const Recipe& recipe) {
  return recipe.cuda_graphs && recipe.framework == Framework::torchtitan &&
         recipe.torchtitan_release == TorchtitanRelease::current && recipe.pipeline_parallel == 1 &&
         recipe.expert_parallel == 1;
}

Conventions conventions_of(const Recipe& recipe, const Model& model, bool legacy_models) {
  switch (recipe.framework) {
    case Framework::torchtitan: return of_torchtitan(recipe, model);
    case Framework::torchtune: return of_torchtune(recipe);
    case Framework::litgpt: return of_litgpt(recipe);
    case Framework::llm_foundry: return of_llm_foundry();
    default: return of_transformers(recipe, legacy_models);
  }
}

}  // namespace trainmem
