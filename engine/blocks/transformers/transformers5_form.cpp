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

LlamaForm bitnet() {
  LlamaForm result = form("bitnet");
  result.sub_norms = true;
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
  result.output_gate = LlamaForm::OutputGate::channels;
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

LlamaForm gemma3n() {
  LlamaForm result = form("gemma3n_text");
  result.block = LlamaForm::BlockForm::gemma3n;
  result.norm = NormLayer::Form::gemma4;
  result.scaled_embedding = true;
  result.two_rotaries = true;
  result.both_masks = true;
  return result;
}

LlamaForm mellum() {
  LlamaForm result = form("mellum");
  result.two_rotaries = true;
  result.masks_of_kinds = true;
  return result;
}

/// Granite's multipliers around norms before and after attention and MLP.
LlamaForm hyperclovax() {
  LlamaForm result = form("hyperclovax");
  result.block = LlamaForm::BlockForm::gemma2;
  result.multipliers = true;
  result.scaled_logits = true;
  return result;
}

LlamaForm axk1() {
  LlamaForm result = latent("axk1");
  result.norm_of_sum = true;
  return result;
}

LlamaForm mistral4() {
  LlamaForm result = latent("mistral4");
  result.scaled_queries = true;
  return result;
}

LlamaForm cohere2_moe() {
  LlamaForm result = form("cohere2_moe");
  result.block = LlamaForm::BlockForm::cohere;
  result.norm = NormLayer::Form::cohere;
  result.turning = LlamaForm::Turning::cohere;
  result.scaled_logits = true;
  result.turns_where_sliding = result.turns_where_dense = true;
  result.shared = LlamaForm::Shared::averaged;
  return result;
}

/// The language models of GLM-4.1V and GLM-OCR.
LlamaForm glm4v(const char* model_type) {
  LlamaForm result = form(model_type);
  result.block = LlamaForm::BlockForm::gemma2;
  result.turning = LlamaForm::Turning::glm_positions;
  result.heads = LlamaForm::Heads::after_projections;
  result.fused_mlp = true;
  result.keeps_positions = true;
  return result;
}

/// The same of GLM-4.5V, PaddleOCR-VL and Qwen3-Omni.
LlamaForm seeing(const char* model_type, LlamaForm::Turning turning, LlamaForm::Heads heads) {
  LlamaForm result = form(model_type);
  result.turning = turning;
  result.heads = heads;
  result.keeps_positions = turning == LlamaForm::Turning::three_positions;
  return result;
}

LlamaForm muse_glimmer() {
  LlamaForm result = form("muse_glimmer_text");
  result.block = LlamaForm::BlockForm::gemma2;
  result.norm = NormLayer::Form::gemma;
  result.query_key_norm = LlamaForm::QueryKeyNorm::heads_first;
  result.output_gate = LlamaForm::OutputGate::channels_after;
  result.bare_head_norms = result.normed_embedding = true;
  result.turns_where_sliding = result.tables_where_sliding = true;
  result.scaled_logits = true;
  return result;
}

/// The language model of North Micro Vision.
LlamaForm cohere_compass() {
  LlamaForm result = form("cohere_compass_text");
  result.block = LlamaForm::BlockForm::cohere;
  result.norm = NormLayer::Form::cohere;
  result.turning = LlamaForm::Turning::interleaved_positions;
  result.two_rotaries = result.both_masks = true;
  result.keeps_positions = true;
  result.scaled_logits = true;
  return result;
}

LlamaForm diffllama() {
  LlamaForm result = form("diffllama");
  result.differential = true;
  return result;
}

/// Every kind of layers has its tables, and turns the first channels of a head.
LlamaForm of_kinds(const char* model_type) {
  LlamaForm result = form(model_type);
  result.turning = LlamaForm::Turning::nemotron;
  result.two_rotaries = true;
  result.masks_of_kinds = true;
  return result;
}

/// The language model of HunyuanOCR.
LlamaForm hunyuan_vl() {
  LlamaForm result = form("hunyuan_vl_text");
  result.turning = LlamaForm::Turning::four_positions;
  result.query_key_norm = LlamaForm::QueryKeyNorm::turned;
  result.keeps_positions = true;
  return result;
}

LlamaForm laguna() {
  LlamaForm result = of_kinds("laguna");
  result.heads = LlamaForm::Heads::transposed_last;
  result.output_gate = LlamaForm::OutputGate::heads;
  result.turns_whole_where_sliding = true;
  result.shared = LlamaForm::Shared::first;
  result.scaled_experts = true;
  return result;
}

/// Step 3.5 Flash, and the language model of Step 3.7 Flash.
LlamaForm step3p5() {
  LlamaForm result = of_kinds("step3p5");
  result.masks_of_kinds = false;
  result.both_masks = true;
  result.norm = NormLayer::Form::gemma;
  result.output_gate = LlamaForm::OutputGate::heads_first;
  result.turns_whole_where_sliding = true;
  result.clamps = true;
  result.shared = LlamaForm::Shared::first;
  result.scaled_experts = true;
  return result;
}

LlamaForm mimo_v2_flash() {
  LlamaForm result = of_kinds("mimo_v2_flash");
  result.scaled_values = true;
  result.sinks = Sinks::joined_column;
  result.router_views = true;
  return result;
}

using Turning = LlamaForm::Turning;
using Heads = LlamaForm::Heads;

const LlamaForm forms[] = {form("cwm"),
                           form("emu3_text_model"),
                           form("jetmoe"),
                           hunyuan_vl(),
                           muse_glimmer(),
                           cohere_compass(),
                           diffllama(),
                           seeing("cosmos3_edge_text", Turning::interleaved_positions, Heads::at_once),
                           jais2(),
                           latent("youtu"),
                           latent("deepseek_v32"),
                           latent("glm_moe_dsa"),
                           form("deepseek_ocr2_text"),
                           bitnet(),
                           minicpm3(),
                           afmoe(),
                           hy_v3(),
                           mellum(),
                           gemma4(),
                           gemma3n(),
                           mistral4(),
                           hyperclovax(),
                           axk1(),
                           cohere2_moe(),
                           laguna(),
                           step3p5(),
                           mimo_v2_flash(),
                           glm4v("glm4v_text"),
                           glm4v("glm_ocr_text"),
                           seeing("glm4v_moe_text", Turning::interleaved_partial, Heads::after_projections),
                           seeing("paddleocr_vl_text", Turning::three_positions, Heads::after_projections),
                           seeing("qwen3_omni_moe_text", Turning::interleaved_positions, Heads::at_once)};

}  // namespace

const LlamaForm* transformers5_form(const Model& model) {
  for (const LlamaForm& candidate : forms)
    if (model.model_type == candidate.model_type) return &candidate;
  return nullptr;
}

}  // namespace trainmem::transformers
