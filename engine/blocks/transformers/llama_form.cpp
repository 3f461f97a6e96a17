#include "engine/blocks/transformers/llama_form.h"

namespace trainmem::transformers {

namespace {

/// Of a class that runs another's forward.
LlamaForm named(const char* model_type, LlamaForm result) {
  result.model_type = model_type;
  return result;
}

LlamaForm gemma() {
  LlamaForm result("gemma");
  result.norm = NormLayer::Form::gemma;
  result.scaled_embedding = true;
  return result;
}

LlamaForm gemma2() {
  LlamaForm result = gemma();
  result.model_type = "gemma2";
  result.block = LlamaForm::BlockForm::gemma2;
  return result;
}

LlamaForm gemma3() {
  LlamaForm result = gemma2();
  result.model_type = "gemma3_text";
  result.query_key_norm = LlamaForm::QueryKeyNorm::heads_first;
  result.two_rotaries = true;
  return result;
}

LlamaForm granite() {
  LlamaForm result("granite");
  result.multipliers = true;
  result.scaled_logits = true;
  return result;
}

LlamaForm granite_swa() {
  LlamaForm result = granite();
  result.model_type = "granite_swa";
  result.sinks = Sinks::scale;
  result.both_masks = true;
  result.idle_rotary = true;
  return result;
}

LlamaForm granitemoe_swa() {
  LlamaForm result = granite_swa();
  result.model_type = "granitemoe_swa";
  result.fused_mlp = true;
  result.masks_sentinels = true;
  return result;
}

/// Granite 4 without Mamba layers and without experts, and Granite 3 with experts.
LlamaForm granite_fused(const char* model_type) {
  LlamaForm result = granite();
  result.model_type = model_type;
  result.fused_mlp = true;
  result.masks_sentinels = true;
  return result;
}

LlamaForm phi3() {
  LlamaForm result("phi3");
  result.turning = LlamaForm::Turning::phi3;
  result.fused_attention = true;
  result.fused_mlp = true;
  return result;
}

LlamaForm glm() {
  LlamaForm result("glm");
  result.turning = LlamaForm::Turning::glm;
  result.fused_mlp = true;
  return result;
}

LlamaForm glm4() {
  LlamaForm result = glm();
  result.model_type = "glm4";
  result.block = LlamaForm::BlockForm::gemma2;
  return result;
}

LlamaForm ernie() {
  LlamaForm result("ernie4_5");
  result.turning = LlamaForm::Turning::ernie;
  return result;
}

LlamaForm ernie_moe() {
  LlamaForm result = ernie();
  result.model_type = "ernie4_5_moe";
  result.shared = LlamaForm::Shared::first;
  return result;
}

LlamaForm helium() {
  LlamaForm result("helium");
  result.norm = NormLayer::Form::helium;
  result.turning = LlamaForm::Turning::helium;
  return result;
}

LlamaForm hunyuan() {
  LlamaForm result("hunyuan_v1_dense");
  result.query_key_norm = LlamaForm::QueryKeyNorm::turned;
  return result;
}

LlamaForm phimoe() {
  LlamaForm result("phimoe");
  result.norm = NormLayer::Form::layer_norm;
  result.jitter = true;
  return result;
}

LlamaForm hunyuan_moe() {
  LlamaForm result = hunyuan();
  result.model_type = "hunyuan_v1_moe";
  result.shared = LlamaForm::Shared::first;
  return result;
}

LlamaForm olmo() {
  LlamaForm result("olmo");
  result.norm = NormLayer::Form::olmo;
  result.turning = LlamaForm::Turning::fp32_tables;
  result.heads = LlamaForm::Heads::after_projections;
  return result;
}

LlamaForm olmo2() {
  LlamaForm result("olmo2");
  result.block = LlamaForm::BlockForm::olmo2;
  result.norm = NormLayer::Form::olmo2;
  result.turning = LlamaForm::Turning::fp32_tables;
  return result;
}

LlamaForm olmo3() {
  LlamaForm result = olmo2();
  result.model_type = "olmo3";
  result.two_rotaries = true;
  return result;
}

LlamaForm exaone4() {
  LlamaForm result("exaone4");
  result.block = LlamaForm::BlockForm::olmo2;
  result.query_key_norm = LlamaForm::QueryKeyNorm::heads_first;
  return result;
}

LlamaForm exaone_moe() {
  LlamaForm result("exaone_moe");
  result.query_key_norm = LlamaForm::QueryKeyNorm::heads_first;
  return result;
}

LlamaForm cohere() {
  LlamaForm result("cohere");
  result.block = LlamaForm::BlockForm::cohere;
  result.norm = NormLayer::Form::cohere;
  result.turning = LlamaForm::Turning::cohere;
  result.scaled_logits = true;
  result.heads = LlamaForm::Heads::transposed_last;
  return result;
}

LlamaForm stablelm() {
  LlamaForm result("stablelm");
  result.block = LlamaForm::BlockForm::stablelm;
  result.norm = NormLayer::Form::layer_norm;
  result.turning = LlamaForm::Turning::stablelm;
  result.heads = LlamaForm::Heads::after_projections;
  return result;
}

LlamaForm ministral() {
  LlamaForm result("ministral");
  result.both_masks = true;
  return result;
}

LlamaForm ministral3() {
  LlamaForm result("ministral3");
  result.scaled_queries = true;
  return result;
}

LlamaForm nanochat() {
  LlamaForm result("nanochat");
  result.norm = NormLayer::Form::nanochat;
  result.query_key_norm = LlamaForm::QueryKeyNorm::turned;
  return result;
}

LlamaForm apertus() {
  LlamaForm result("apertus");
  result.query_key_norm = LlamaForm::QueryKeyNorm::heads_first;
  return result;
}

LlamaForm seed_oss() {
  LlamaForm result("seed_oss");
  result.inner_dropout = true;
  return result;
}

LlamaForm starcoder2() {
  LlamaForm result("starcoder2");
  result.inner_dropout = true;
  result.norm = NormLayer::Form::layer_norm;
  return result;
}

LlamaForm nemotron() {
  LlamaForm result("nemotron");
  result.norm = NormLayer::Form::nemotron;
  result.turning = LlamaForm::Turning::nemotron;
  result.heads = LlamaForm::Heads::after_projections;
  return result;
}

LlamaForm deepseek_v2() {
  LlamaForm result("deepseek_v2");
  result.keys_in_place = true;
  result.turning = LlamaForm::Turning::complex;
  return result;
}

/// DeepSeek V3, and GLM-4.7 Flash with its attention.
LlamaForm deepseek_v3(const char* model_type) {
  LlamaForm result(model_type);
  result.keys_in_place = true;
  result.turning = LlamaForm::Turning::even_and_odd;
  return result;
}

LlamaForm qwen2_moe() {
  LlamaForm result("qwen2_moe");
  result.idle_window = true;
  return result;
}

LlamaForm llama4() {
  LlamaForm result("llama4_text");
  result.holds_attention = true;
  result.turning = LlamaForm::Turning::complex;
  return result;
}

LlamaForm gpt_oss() {
  LlamaForm result("gpt_oss");
  result.masks_sentinels = true;
  result.norm = NormLayer::Form::olmo2;
  result.turning = LlamaForm::Turning::halves;
  return result;
}

/// The language models of Qwen2-VL, Qwen2.5-VL and Qwen3-VL.
LlamaForm seeing(const char* model_type, LlamaForm::Turning turning) {
  LlamaForm result(model_type);
  result.turning = turning;
  return result;
}

/// GLM-4.5 and MiniMax-M2 turn the first channels of a head only.
LlamaForm partial(const char* model_type) {
  LlamaForm result(model_type);
  result.turning = LlamaForm::Turning::nemotron;
  result.heads = LlamaForm::Heads::transposed_last;  // MiniMax-M2 normalises whole tokens, as OLMo 2 does
  return result;
}

LlamaForm dbrx() {
  LlamaForm result("dbrx");
  result.block = LlamaForm::BlockForm::dbrx;
  result.norm = NormLayer::Form::layer_norm;
  result.fused_attention = true;
  return result;
}

LlamaForm minimax() {
  LlamaForm result("minimax");
  result.block = LlamaForm::BlockForm::minimax;
  return result;
}

/// Grok-1 has no class in transformers: the layers of xai-org/grok-1 model.py (DecoderLayer: norms before and after
/// attention and experts, soft-capped scores), written as Gemma 2's with Mixtral's experts.
LlamaForm grok() {
  LlamaForm result("grok-1");
  result.block = LlamaForm::BlockForm::gemma2;
  return result;
}

/// PaLM has no class in transformers: the layers of the paper (arXiv 2204.02311, section 2), written as Llama's are:
/// one norm, attention and gated MLP beside each other, one key/value head.
LlamaForm palm() {
  LlamaForm result("palm");
  result.block = LlamaForm::BlockForm::cohere;
  result.norm = NormLayer::Form::layer_norm;
  return result;
}

const LlamaForm forms[] = {LlamaForm("llama"),
                           LlamaForm("mistral"),
                           LlamaForm("qwen2"),
                           LlamaForm("qwen3"),
                           seeing("qwen2_vl_text", LlamaForm::Turning::three_positions),
                           seeing("qwen2_5_vl_text", LlamaForm::Turning::three_positions),
                           seeing("qwen3_vl_text", LlamaForm::Turning::interleaved_positions),
                           seeing("qwen3_vl_moe_text", LlamaForm::Turning::interleaved_positions),
                           LlamaForm("smollm3"),
                           ministral(),
                           ministral3(),
                           nanochat(),
                           apertus(),
                           LlamaForm("arcee"),
                           seed_oss(),
                           gemma(),
                           gemma2(),
                           gemma3(),
                           named("vaultgemma", gemma()),
                           granite(),
                           granite_swa(),
                           granitemoe_swa(),
                           granite_fused("granitemoehybrid"),
                           granite_fused("granitemoe"),
                           granite_fused("granitemoeshared"),
                           phi3(),
                           olmo(),
                           olmo2(),
                           olmo3(),
                           cohere(),
                           named("cohere2", cohere()),
                           glm(),
                           glm4(),
                           ernie(),
                           exaone4(),
                           helium(),
                           hunyuan(),
                           stablelm(),
                           starcoder2(),
                           nemotron(),
                           palm(),
                           LlamaForm("mixtral"),
                           qwen2_moe(),
                           LlamaForm("qwen3_moe"),
                           LlamaForm("olmoe"),
                           LlamaForm("deepseek"),
                           deepseek_v2(),
                           deepseek_v3("deepseek_v3"),
                           deepseek_v3("glm4_moe_lite"),
                           LlamaForm("dots1"),
                           LlamaForm("solar_open"),
                           exaone_moe(),
                           named("flex_olmo", olmo2()),
                           hunyuan_moe(),
                           phimoe(),
                           ernie_moe(),
                           gpt_oss(),
                           llama4(),
                           partial("glm4_moe"),
                           partial("minimax_m2"),
                           minimax(),
                           dbrx(),
                           grok()};

}  // namespace

const LlamaForm* llama_form(const Model& model) {
  for (const LlamaForm& candidate : forms)
    if (model.model_type == candidate.model_type) return &candidate;
  const LlamaForm* hybrid = hybrid_form(model);
  return hybrid != nullptr ? hybrid : transformers5_form(model);
}

}  // namespace trainmem::transformers
