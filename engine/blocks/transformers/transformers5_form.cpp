// Forms of classes that are new in transformers 5: modeling_<model_type>.py.
#include "engine/blocks/transformers/llama_form.h"

namespace trainmem::transformers {

namespace {

/// Experts of that release mask sentinels.
LlamaForm form(const char* model_type) {
  LlamaForm result(model_type);
  result.masks_sentinels = true;
  return result;
}

LlamaForm jais2() {
  LlamaForm result = form("jais2");
  result.norm = NormLayer::Form::layer_norm;
  return result;
}

/// DeepSeek V3's attention beside a dense MLP, or beside DeepSeek V3's experts with an indexer.
LlamaForm latent(const char* model_type) {
  LlamaForm result = form(model_type);
  result.turning = LlamaForm::Turning::even_and_odd;
  result.keys_in_place = true;
  return result;
}

LlamaForm minicpm3() {
  LlamaForm result = form("minicpm3");
  result.scaled_embedding = result.integer_scale = true;
  result.scaled_residuals = true;
  result.scaled_output = true;
  result.keys_in_place = true;
  return result;
}

LlamaForm afmoe() {
  LlamaForm result = form("afmoe");
  result.block = LlamaForm::BlockForm::gemma2;
  result.norm = NormLayer::Form::olmo2;
  result.heads = LlamaForm::Heads::transposed_last;
  result.scaled_stream = true;
  result.output_gate = true;
  result.turns_where_sliding = true;
  result.shared = LlamaForm::Shared::after_router;
  return result;
}

LlamaForm hy_v3() {
  LlamaForm result = form("hy_v3");
  result.query_key_norm = LlamaForm::QueryKeyNorm::heads_first;
  result.sum_in_fp32 = true;
  return result;
}

LlamaForm gemma4() {
  LlamaForm result = form("gemma4_text");
  result.block = LlamaForm::BlockForm::gemma4;
  result.norm = NormLayer::Form::gemma4;
  result.scaled_embedding = true;
  result.two_rotaries = true;
  return result;
}

LlamaForm mellum() {
  LlamaForm result = form("mellum");
  result.two_rotaries = true;
  result.masks_of_kinds = true;
  return result;
}

const LlamaForm forms[] = {
    form("cwm"), jais2(),  latent("youtu"), latent("deepseek_v32"), latent("glm_moe_dsa"), minicpm3(), afmoe(),
    hy_v3(),     mellum(), gemma4()};

}  // namespace

const LlamaForm* transformers5_form(const Model& model) {
  for (const LlamaForm& candidate : forms)
    if (model.model_type == candidate.model_type) return &candidate;
  return nullptr;
}

}  // namespace trainmem::transformers
