// Which fused kernels a form has: Liger-Kernel's, as it patches the classes of transformers.
#include "engine/blocks/transformers/llama_form.h"
#include "engine/text/list.h"

namespace trainmem::transformers {

namespace {

constexpr const char* unpatched =
    "bamba,bitnet,hyperclovax,axk1,mistral4,cohere2_moe,glm_ocr_text,paddleocr_vl_text,qwen3_omni_moe_text";

/// Blocks whose classes Liger-Kernel is not known to patch.
bool has_own_block(const LlamaForm& form) {
  return form.block == LlamaForm::BlockForm::one_mixer || form.block == LlamaForm::BlockForm::falcon_h1 ||
         form.block == LlamaForm::BlockForm::olmo_hybrid || form.block == LlamaForm::BlockForm::gemma4 ||
         form.block == LlamaForm::BlockForm::gemma3n || has_item(unpatched, form.model_type);
}

}  // namespace

// src/liger_kernel/transformers/monkey_patch.py and rms_norm.py: LigerRMSNormForGemma2, ForGlm4, ForOlmo2
// and EXAONE 4's are not in place.
FusedNorm fused_norm(const Model& model) {
  using BlockForm = LlamaForm::BlockForm;
  using Norms = NormLayer::Form;
  const LlamaForm* form = llama_form(model);
  const Norms norms = form == nullptr ? Norms::layer_norm : form->norm;
  if (norms == Norms::cohere || norms == Norms::helium || norms == Norms::nanochat) return FusedNorm::none;
  if (model.norm == Norm::layernorm) return FusedNorm::layer_norm;
  if (form == nullptr || form->gated_attention || has_own_block(*form)) return FusedNorm::none;
  return form->block == BlockForm::gemma2 || form->block == BlockForm::olmo2 ? FusedNorm::liger
                                                                             : FusedNorm::liger_in_place;
}

bool has_fused_mlp(const Model& model) {
  const LlamaForm* form = llama_form(model);
  return form != nullptr && model.gated_mlp && !form->fused_mlp && !form->gated_attention && !has_own_block(*form) &&
         model.experts.num_experts == 0;
}

bool has_fused_rope(const Model& model) {
  const LlamaForm* form = llama_form(model);
  return form != nullptr && form->turning == LlamaForm::Turning::whole && form->block != LlamaForm::BlockForm::dbrx &&
         !has_own_block(*form) && model.latent_attention.kv_lora_rank == 0;
}

// fms-acceleration plugins/fused-ops-and-kernels, models/{llama,mistral,mixtral,granite}.py: get_mp_rules.
bool has_fused_lora(const Model& model) { return has_item("llama,mistral,mixtral,granite", model.model_type); }

}  // namespace trainmem::transformers
