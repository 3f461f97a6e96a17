// What single classes with experts call otherwise than the others.
//
// Source: src/transformers/models/*/configuration_*.py, release 5; configuration_deepseek.py of
// deepseek-ai/deepseek-moe-16b-base.
#include "engine/presets/huggingface_keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

void read_llama4(Model& model, const Keys& keys) {
  // intermediate_size is an expert's width here, intermediate_size_mlp that of a dense layer.
  keys.read(model.experts.moe_intermediate_size, {"intermediate_size"});
  model.intermediate_size = 16384;
  keys.read(model.intermediate_size, {"intermediate_size_mlp"});
  keys.read(model.experts.moe_layer_freq, {"interleave_moe_layer_step"});
  keys.read(model.sliding_window, {"attention_chunk_size"});
  if (!keys.flag("use_qk_norm", true)) model.qk_norm = QkNorm::none;
}

void read_gpt_oss(Model& model, const Keys& keys) {
  keys.read(model.experts.num_experts_per_tok, {"experts_per_token"});
  model.attention_output_bias = model.attention_bias;
  model.hidden_act = Activation::clamped_swiglu;  // hidden_act "silu" is the part of it that has a name
}

void read_glm4_moe(Model& model, const Keys& keys) {
  if (keys.flag("use_qk_norm", false)) model.qk_norm = QkNorm::per_head;
}

void read_dbrx(Model& model, const Keys& keys) {
  keys.read(model.num_key_value_heads, {"attn_config.kv_n_heads"});
  keys.read(model.intermediate_size, {"ffn_config.ffn_hidden_size"});
  // Release 5 reads the two widths the other way round, so that what runs there has the tokens' width here.
  if (model.intermediate_size == model.hidden_size) keys.read(model.intermediate_size, {"ffn_config.hidden_size"});
  keys.read(model.experts.num_experts, {"ffn_config.moe_num_experts"});
  keys.read(model.experts.num_experts_per_tok, {"ffn_config.moe_top_k"});
  model.experts.moe_intermediate_size = model.intermediate_size;
  model.embedding_dropout = 0;  // DbrxModel does not use emb_pdrop
}

void read_minimax_m2(Model& model, const Keys& keys) {
  const auto* turned = keys.find({"rotary_dim"});
  if (turned != nullptr && model.head_dim > 0)
    model.partial_rotary_factor = turned->number / static_cast<double>(model.head_dim);
}

void read_granitemoe(Model& model, const Keys&) {
  model.experts.moe_intermediate_size = model.intermediate_size;
  model.experts.n_shared_experts = model.experts.shared_expert_intermediate_size > 0 ? 1 : 0;
}

void read_granitemoeshared(Model& model, const Keys& keys) {
  keys.read(model.experts.shared_expert_intermediate_size, {"shared_intermediate_size"});
  read_granitemoe(model, keys);
}

void read_exaone_moe(Model& model, const Keys& keys) {
  keys.read(model.experts.n_shared_experts, {"num_shared_experts"});
}

void read_hunyuan(Model& model, const Keys& keys) {
  keys.read(model.experts.num_experts_per_tok, {"moe_topk.0", "moe_topk"});  // a list has one number for each layer
  model.experts.moe_intermediate_size = model.intermediate_size;
}

void read_ernie_moe(Model& model, const Keys& keys) {
  keys.read(model.experts.num_experts, {"moe_num_experts"});
  keys.read(model.experts.num_experts_per_tok, {"moe_k"});
  keys.read(model.experts.n_shared_experts, {"moe_num_shared_experts"});
  keys.read(model.experts.moe_layer_freq, {"moe_layer_interval"});
  keys.read(model.experts.first_k_dense_replace, {"moe_layer_start_index"});
}

void read_deepseek(Model& model, const Keys& keys) { keys.read(model.experts.moe_layer_freq, {"moe_layer_freq"}); }

/// The class builds no layers of multi-token prediction.
void read_nemotron_h(Model& model, const Keys&) { model.num_nextn_predict_layers = 0; }

struct ClassReader {
  std::string_view model_type;
  void (*read)(Model&, const Keys&);
};

constexpr ClassReader readers[] = {
    {"llama4_text", read_llama4},
    {"gpt_oss", read_gpt_oss},
    {"glm4_moe", read_glm4_moe},
    {"dbrx", read_dbrx},
    {"minimax_m2", read_minimax_m2},
    {"granitemoe", read_granitemoe},
    {"granitemoeshared", read_granitemoeshared},
    {"exaone_moe", read_exaone_moe},
    {"hunyuan_v1_moe", read_hunyuan},
    {"ernie4_5_moe", read_ernie_moe},
    {"deepseek", read_deepseek},
    {"deepseek_v2", read_deepseek},
    {"nemotron_h", read_nemotron_h},
};

}  // namespace

void read_expert_class_keys(Model& model, const HuggingFaceKeys& keys) {
  keys.read(model.num_nextn_predict_layers, {"num_nextn_predict_layers"});
  for (const ClassReader& reader : readers)
    if (model.model_type == reader.model_type) return reader.read(model, keys);
}

}  // namespace trainmem
