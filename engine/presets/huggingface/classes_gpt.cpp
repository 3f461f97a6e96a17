// The configuration classes of GPT's kind: layer norms and an MLP without gate, most with biases.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

constexpr double tenth = 0.1;

Model layernorm_gpt(const char* model_type) {
  Model model;
  model.model_type = model_type;
  model.hidden_act = Activation::gelu;
  model.gated_mlp = false;
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.attention_bias = true;
  model.attention_output_bias = true;
  model.mlp_bias = true;
  return model;
}

Model gpt2() {
  Model model = layernorm_gpt("gpt2");
  sizes(model, 50257, 768, 12, 12, 0, 0, 1024);
  model.hidden_act = Activation::gelu_new;
  model.tie_word_embeddings = true;
  model.positions = Positions::learned;
  model.attention_dropout = tenth;
  model.hidden_dropout = tenth;
  model.embedding_dropout = tenth;
  return model;
}

void read_gpt2(Model& model, const Keys& keys, Issues& issues) {
  model.learned_positions = model.max_position_embeddings;
  if (keys.flag("reorder_and_upcast_attn", false))
    report_not_modelled_key(issues, "reorder_and_upcast_attn", "Eager attention in fp32 is not modelled.");
}

/// The first GPT, whose norms stand on sums.
Model openai_gpt() {
  Model model = gpt2();
  model.model_type = "openai-gpt";
  model.vocab_size = 40478;
  model.max_position_embeddings = 512;
  model.norm_placement = NormPlacement::post;
  model.final_norm = false;
  return model;
}

// models/openai/configuration_openai.py: "gelu" is the function that others call gelu_new. The MLP is four times as
// wide.
void read_openai_gpt(Model& model, const Keys& keys, Issues& issues) {
  model.learned_positions = model.max_position_embeddings;
  model.intermediate_size = 4 * model.hidden_size;
  const auto* activation = keys.find({"afn"});
  model.hidden_act = Activation::gelu_new;
  if (activation == nullptr || activation->text == "gelu") return;
  if (activation->text == "relu") {
    model.hidden_act = Activation::relu;
  } else if (activation->text == "silu" || activation->text == "swish") {
    model.hidden_act = Activation::silu;
  } else {
    report_not_modelled_key(issues, "afn", "The class knows no activation of this name.");
  }
}

Model gpt_bigcode() {
  Model model = gpt2();
  model.model_type = "gpt_bigcode";
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.num_key_value_heads = 1;
  return model;
}

// models/gpt_bigcode/modeling_gpt_bigcode.py: GPTBigCodeAttention, kv_heads.
void read_gpt_bigcode(Model& model, const Keys& keys, Issues&) {
  model.learned_positions = model.max_position_embeddings;
  model.num_key_value_heads = keys.flag("multi_query", true) ? Size(1) : Size(model.num_attention_heads);
}

Model gpt_neo() {
  Model model = layernorm_gpt("gpt_neo");
  sizes(model, 50257, 2048, 24, 16, 0, 0, 2048);
  model.hidden_act = Activation::gelu_new;
  model.tie_word_embeddings = true;
  model.positions = Positions::learned;
  model.attention_bias = false;
  return model;
}

Model gpt_neox() {
  Model model = layernorm_gpt("gpt_neox");
  sizes(model, 50432, 6144, 44, 64, 0, 24576, 2048);
  model.partial_rotary_factor = 0.25;
  model.parallel_attention_mlp = true;
  return model;
}

void read_gpt_neox(Model& model, const Keys& keys, Issues&) {
  model.embedding_dropout = model.hidden_dropout;
  model.parallel_attention_mlp = keys.flag("use_parallel_residual", true);
}

Model gptj() {
  Model model = layernorm_gpt("gptj");
  sizes(model, 50400, 4096, 28, 16, 0, 0, 2048);
  model.hidden_act = Activation::gelu_new;
  model.norms_per_layer = 1;
  model.attention_bias = false;
  model.attention_output_bias = false;
  model.lm_head_bias = true;
  model.parallel_attention_mlp = true;
  return model;
}

void read_gptj(Model& model, const Keys& keys, Issues&) {
  double rotary_dim = 64;
  keys.read(rotary_dim, {"rotary_dim"});
  model.partial_rotary_factor =
      rotary_dim * static_cast<double>(model.num_attention_heads) / static_cast<double>(model.hidden_size);
}

Model codegen() {
  Model model = gptj();
  model.model_type = "codegen";
  model.partial_rotary_factor = 0.25;
  return model;
}

Model opt() {
  Model model = layernorm_gpt("opt");
  sizes(model, 50272, 768, 12, 12, 0, 3072, 2048);
  model.hidden_act = Activation::relu;
  model.tie_word_embeddings = true;
  model.positions = Positions::learned;
  model.hidden_dropout = tenth;
  return model;
}

void read_opt(Model& model, const Keys& keys, Issues&) {
  model.norm_weight = model.norm_bias = keys.flag("layer_norm_elementwise_affine", true);
  if (!keys.flag("do_layer_norm_before", true)) {
    model.norm_placement = NormPlacement::post;
    model.final_norm = false;
  }
  if (keys.flag("_remove_final_layer_norm", false)) model.final_norm = false;
  set_all_biases(model, keys.flag("enable_bias", true));
  model.learned_positions = model.max_position_embeddings + 2;
}

/// What BioGPT and XGLM have of fairseq.
void check_scaled_gpt(const Keys& keys, Issues& issues) {
  double dropped = 0;
  keys.read(dropped, {"activation_dropout"});
  if (dropped > 0) report_not_modelled_key(issues, "activation_dropout", "Dropout inside the MLP is not modelled.");
  dropped = 0;
  keys.read(dropped, {"layerdrop"});
  if (dropped > 0) report_not_modelled_key(issues, "layerdrop", "Layers left out at random are not modelled.");
  if (!keys.flag("scale_embedding", true))
    report_not_modelled_key(issues, "scale_embedding", "This class with embeddings as they are is not modelled.");
}

Model biogpt() {
  Model model = layernorm_gpt("biogpt");
  sizes(model, 42384, 1024, 24, 16, 0, 4096, 1024);
  model.tie_word_embeddings = true;
  model.positions = Positions::learned;
  model.attention_dropout = model.hidden_dropout = tenth;
  return model;
}

void read_biogpt(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.hidden_dropout, {"hidden_dropout_prob"});
  keys.read(model.attention_dropout, {"attention_probs_dropout_prob"});
  model.learned_positions = model.max_position_embeddings + 2;
  check_scaled_gpt(keys, issues);
}

Model xglm() {
  Model model = layernorm_gpt("xglm");
  sizes(model, 256008, 1024, 24, 16, 0, 4096, 2048);
  model.tie_word_embeddings = true;
  model.positions = Positions::none;  // sinusoids of a buffer
  model.attention_dropout = model.hidden_dropout = tenth;
  return model;
}

void read_xglm(Model&, const Keys& keys, Issues& issues) {
  check_scaled_gpt(keys, issues);
  if (keys.flag("add_cross_attention", false))
    report_not_modelled_key(issues, "add_cross_attention", "Attention to an encoder is not modelled.");
}

Model persimmon() {
  Model model = layernorm_gpt("persimmon");
  sizes(model, 262144, 4096, 36, 64, 0, 16384, 16384);
  model.hidden_act = Activation::relu2;
  model.qk_norm = QkNorm::per_head;
  model.partial_rotary_factor = 0.5;
  return model;
}

void read_persimmon(Model& model, const Keys& keys, Issues&) {
  if (!keys.flag("qk_layernorm", true)) model.qk_norm = QkNorm::none;
}

Model bloom() {
  Model model = layernorm_gpt("bloom");
  sizes(model, 250880, 64, 2, 8, 0, 0, 2048);
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.tie_word_embeddings = true;
  model.positions = Positions::alibi;
  model.embedding_norm = true;
  return model;
}

void read_bloom(Model&, const Keys& keys, Issues& issues) {
  if (keys.flag("apply_residual_connection_post_layernorm", false))
    report_not_modelled_key(issues, "apply_residual_connection_post_layernorm",
                            "Residuals after the norm are not modelled.");
}

Model mpt() {
  Model model = layernorm_gpt("mpt");
  sizes(model, 50368, 2048, 24, 16, 0, 0, 2048);
  model.norm_bias = false;
  model.attention_bias = false;
  model.attention_output_bias = false;
  model.mlp_bias = false;
  model.tie_word_embeddings = true;
  model.positions = Positions::alibi;
  return model;
}

// models/mpt/modeling_mpt.py reads neither expansion_ratio nor no_bias nor resid_pdrop: all dropout is attn_pdrop.
void read_mpt(Model& model, const Keys& keys, Issues& issues) {
  model.intermediate_size = 4 * model.hidden_size;
  model.attention_dropout = 0;  // modeling_mpt.py reads attn_config's alone
  keys.read(model.attention_dropout, {"attn_config.attn_pdrop"});
  model.hidden_dropout = model.attention_dropout;
  keys.read(model.num_key_value_heads, {"attn_config.kv_n_heads"});
  keys.read(model.clip_qkv, {"attn_config.clip_qkv"});
  if (keys.flag("attn_config.rope", false))
    report_not_modelled_key(issues, "attn_config/rope", "MPT with RoPE is not modelled.");
  if (keys.flag("attn_config.alibi", true)) return;
  // transformers has ALiBi alone; llm-foundry llmfoundry/models/mpt/configuration_mpt.py.
  const bool learned = keys.flag("learned_pos_emb", true);
  model.positions = learned ? Positions::learned : Positions::none;
  model.learned_positions = learned ? model.max_position_embeddings : 0;
  const bool bias = !keys.flag("no_bias", false);
  model.norm_bias = model.attention_bias = model.attention_output_bias = model.mlp_bias = bias;
}

Model falcon() {
  Model model = layernorm_gpt("falcon");
  sizes(model, 65024, 4544, 32, 71, 1, 0, 2048);
  model.attention_bias = false;
  model.attention_output_bias = false;
  model.mlp_bias = false;
  model.tie_word_embeddings = true;
  model.norms_per_layer = 1;
  model.parallel_attention_mlp = true;
  return model;
}

void read_falcon(Model& model, const Keys& keys, Issues&) {
  const bool new_architecture = keys.flag("new_decoder_architecture", false);
  if (new_architecture) {
    model.num_key_value_heads = model.num_attention_heads;
    keys.read(model.num_key_value_heads, {"num_kv_heads", "n_head_kv"});
    std::int64_t norms = 2;
    keys.read(norms, {"num_ln_in_parallel_attn"});
    model.norms_per_layer = norms;
  } else {
    model.num_key_value_heads = keys.flag("multi_query", true) ? Size(1) : model.num_attention_heads;
    model.parallel_attention_mlp = keys.flag("parallel_attn", true);
    model.norms_per_layer = model.parallel_attention_mlp ? 1 : 2;
  }
  set_all_biases(model, keys.flag("bias", false));
  if (keys.flag("alibi", false)) model.positions = Positions::alibi;
}

Model phi() {
  Model model = layernorm_gpt("phi");
  sizes(model, 51200, 2048, 24, 32, 0, 8192, 2048);
  model.hidden_act = Activation::gelu_new;
  model.norms_per_layer = 1;
  model.lm_head_bias = true;
  model.partial_rotary_factor = 0.5;
  model.parallel_attention_mlp = true;
  return model;
}

Model starcoder2() {
  Model model = layernorm_gpt("starcoder2");
  sizes(model, 49152, 3072, 30, 24, 2, 12288, 4096);
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.tie_word_embeddings = true;
  return model;
}

void read_starcoder2(Model& model, const Keys& keys, Issues&) { set_all_biases(model, keys.flag("use_bias", true)); }

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {
    {openai_gpt(), none, read_openai_gpt},
    {gpt2(), none, read_gpt2},
    {gpt_bigcode(), none, read_gpt_bigcode},
    {gpt_neo(), none, read_gpt2},
    {gpt_neox(), all, read_gpt_neox},
    {gptj(), none, read_gptj},
    {codegen(), none, read_gptj},
    {opt(), none, read_opt},
    {bloom(), none, read_bloom},
    {mpt(), none, read_mpt},
    {falcon(), none, read_falcon},
    {phi(), none, read_qk_layernorm},
    {starcoder2(), none, read_starcoder2},
    {biogpt(), none, read_biogpt},
    {persimmon(), none, read_persimmon},
    {xglm(), none, read_xglm},
};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_gpt() { return classes; }

}  // namespace trainmem
