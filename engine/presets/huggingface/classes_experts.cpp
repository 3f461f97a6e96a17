// The configuration classes whose experts are chosen by the softmax of a router.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

Model mixtral() {
  Model model = of_class("mixtral", 32000, 4096, 32, 32, 8, 14336, 131072);
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  return model;
}

Model granitemoe(const char* model_type) {
  Model model = of_class(model_type, 32000, 4096, 32, 32, 0, 11008, 2048);
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  return model;
}

void read_granitemoe(Model& model, const Keys&, Issues&) {
  model.experts.moe_intermediate_size = model.intermediate_size;
  model.experts.n_shared_experts = model.experts.shared_expert_intermediate_size > 0 ? 1 : 0;
}

void read_granitemoeshared(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.experts.shared_expert_intermediate_size, {"shared_intermediate_size"});
  read_granitemoe(model, keys, issues);
}

Model qwen2_moe() {
  Model model = of_class("qwen2_moe", 151936, 2048, 24, 16, 16, 5632, 32768);
  model.attention_bias = true;
  model.experts.num_experts = 60;
  model.experts.num_experts_per_tok = 4;
  model.experts.moe_intermediate_size = 1408;
  model.experts.n_shared_experts = 1;
  model.experts.shared_expert_intermediate_size = 5632;
  model.experts.shared_expert_gate = true;
  return model;
}

Model qwen3_moe() {
  Model model = of_class("qwen3_moe", 151936, 2048, 24, 32, 4, 6144, 32768);
  model.qk_norm = QkNorm::per_head;
  model.experts.num_experts = 128;
  model.experts.num_experts_per_tok = 8;
  model.experts.moe_intermediate_size = 768;
  return model;
}

Model qwen3_vl_moe() {
  Model model = of_class("qwen3_vl_moe_text", 151936, 2048, 24, 16, 16, 5632, 128000);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  model.experts.num_experts = 60;
  model.experts.num_experts_per_tok = 4;
  model.experts.moe_intermediate_size = 1408;
  return model;
}

/// The language model of Qwen3-Omni.
Model qwen3_omni_moe() {
  Model model = of_class("qwen3_omni_moe_text", 3584, 2048, 28, 28, 4, 18944, 32768);
  model.qk_norm = QkNorm::per_head;
  model.experts.num_experts = 128;
  model.experts.num_experts_per_tok = 8;
  model.experts.moe_intermediate_size = 768;
  return model;
}

Model olmoe() {
  Model model = of_class("olmoe", 50304, 2048, 16, 16, 0, 2048, 4096);
  model.qk_norm = QkNorm::full;
  model.experts.num_experts = 64;
  model.experts.num_experts_per_tok = 8;
  return model;
}

Model gpt_oss() {
  Model model = of_class("gpt_oss", 201088, 2880, 36, 64, 8, 2880, 131072);
  model.head_dim = 64;
  model.hidden_act = Activation::clamped_swiglu;
  model.attention_bias = model.attention_output_bias = true;
  model.sliding_window = 128;
  model.sliding_window_pattern = 2;
  model.attention_sinks = true;
  model.experts.num_experts = 128;
  model.experts.num_experts_per_tok = 4;
  model.experts.router_bias = model.experts.expert_bias = true;
  return model;
}

void read_gpt_oss(Model& model, const Keys& keys, Issues&) {
  keys.read(model.experts.num_experts_per_tok, {"experts_per_token"});
  model.hidden_act = Activation::clamped_swiglu;  // hidden_act "silu" is the part of it that has a name
}

Model llama4_text() {
  Model model = of_class("llama4_text", 202048, 5120, 48, 40, 8, 16384, 131072);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 8192;  // attention_chunk_size
  model.sliding_window_pattern = 4;
  model.nope_every = 4;
  model.experts.num_experts = 16;
  model.experts.num_experts_per_tok = 1;
  model.experts.moe_intermediate_size = 8192;
  model.experts.n_shared_experts = 1;
  return model;
}

void read_llama4(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.nope_every, {"no_rope_layer_interval"});
  model.sliding_window_pattern = model.nope_every;
  read_no_rope_layers(model, keys, issues);
  // intermediate_size is an expert's width here, intermediate_size_mlp that of a dense layer.
  keys.read(model.experts.moe_intermediate_size, {"intermediate_size"});
  model.intermediate_size = 16384;
  keys.read(model.intermediate_size, {"intermediate_size_mlp"});
  keys.read(model.experts.moe_layer_freq, {"interleave_moe_layer_step"});
  keys.read(model.sliding_window, {"attention_chunk_size"});
  if (!keys.flag("use_qk_norm", true)) model.qk_norm = QkNorm::none;
}

Model dbrx() {
  Model model = of_class("dbrx", 32000, 2048, 24, 16, 1, 3584, 2048);
  model.norm = Norm::layernorm;
  model.experts.num_experts = 4;
  model.experts.num_experts_per_tok = 1;
  return model;
}

void read_dbrx(Model& model, const Keys& keys, Issues&) {
  keys.read(model.num_key_value_heads, {"attn_config.kv_n_heads"});
  keys.read(model.intermediate_size, {"ffn_config.ffn_hidden_size"});
  // Release 5 reads the two widths the other way round, so that what runs there has the tokens' width here.
  if (model.intermediate_size == model.hidden_size) keys.read(model.intermediate_size, {"ffn_config.hidden_size"});
  keys.read(model.experts.num_experts, {"ffn_config.moe_num_experts"});
  keys.read(model.experts.num_experts_per_tok, {"ffn_config.moe_top_k"});
  model.experts.moe_intermediate_size = model.intermediate_size;
  model.embedding_dropout = 0;  // DbrxModel does not use emb_pdrop
}

Model minimax() {
  Model model = of_class("minimax", 32000, 4096, 32, 32, 8, 14336, 131072);
  model.layer_types = "7*linear_attention,full_attention";  // of the published models; the class would alternate
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  return model;
}

void read_minimax(Model& model, const Keys& keys, Issues& issues) {
  read_jitter(model, keys, issues);
  std::int64_t block = 256;  // engine/blocks/transformers/llama_form.h: lightning_block
  keys.read(block, {"block_size"});
  if (block != 256)
    report_not_modelled_key(issues, "block_size", "Lightning attention over other blocks than 256 is not modelled.");
}

Model flex_olmo() {
  Model model = of_class("flex_olmo", 100352, 4096, 32, 32, 0, 11008, 4096);
  model.norm_placement = NormPlacement::post;
  model.qk_norm = QkNorm::full;
  model.experts.num_experts = 7;
  model.experts.num_experts_per_tok = 5;
  return model;
}

Model hunyuan_v1_moe() {
  Model model = of_class("hunyuan_v1_moe", 290943, 4096, 32, 32, 0, 11008, 2048);
  model.qk_norm = QkNorm::per_head;
  model.experts.num_experts = 1;
  model.experts.num_experts_per_tok = 1;
  model.experts.n_shared_experts = 1;
  return model;
}

void read_hunyuan(Model& model, const Keys& keys, Issues&) {
  keys.read(model.experts.num_experts_per_tok, {"moe_topk.0", "moe_topk"});  // a list has one number for each layer
  model.experts.moe_intermediate_size = model.intermediate_size;
}

Model phimoe() {
  Model model = of_class("phimoe", 32064, 4096, 32, 32, 8, 6400, 131072);
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.experts.num_experts = 16;
  model.experts.num_experts_per_tok = 2;
  return model;
}

void read_phimoe(Model& model, const Keys& keys, Issues&) {
  keys.read(model.lm_head_bias, {"lm_head_bias"});
  double jitter = 0;
  keys.read(jitter, {"input_jitter_noise"});
  model.experts.input_jitter = jitter > 0;
}

Model jetmoe() {
  Model model = of_class("jetmoe", 32000, 2048, 12, 32, 16, 5632, 4096);
  model.head_dim = 128;
  model.tie_word_embeddings = true;
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  return model;
}

// models/jetmoe/configuration_jetmoe.py: every expert that is chosen has query heads of its own.
void read_jetmoe(Model& model, const Keys& keys, Issues&) {
  keys.read(model.head_dim, {"kv_channels"});
  model.num_attention_heads = model.num_key_value_heads * Size(model.experts.num_experts_per_tok);
  model.experts.moe_intermediate_size = model.intermediate_size;
}

Model mellum() {
  Model model = of_class("mellum", 98304, 2304, 28, 32, 4, 7168, 131072);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 1024;
  model.layer_types = "full_attention";
  model.experts = {64, 8, 896};
  return model;
}

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {
    {mixtral(), none, read_jitter},
    {granitemoe("granitemoe"), all, read_granitemoe},
    {granitemoe("granitemoeshared"), all, read_granitemoeshared},
    {qwen2_moe(), queries_keys_values, read_mlp_only_layers},
    {qwen3_moe(), all, read_mlp_only_layers},
    {qwen3_vl_moe(), all, read_mlp_only_layers},
    {qwen3_omni_moe(), all, read_mlp_only_layers},
    {olmoe(), all, read_clip_qkv},
    {gpt_oss(), all, read_gpt_oss},
    {llama4_text(), all, read_llama4},
    {dbrx(), none, read_dbrx},
    {minimax(), none, read_minimax},
    {flex_olmo(), all},
    {hunyuan_v1_moe(), all, read_hunyuan},
    {phimoe(), all, read_phimoe},
    {jetmoe(), none, read_jetmoe},
    {mellum(), all},
};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_experts() { return classes; }

}  // namespace trainmem
