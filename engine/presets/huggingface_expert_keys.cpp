// What single classes with experts call otherwise than the others.
//
// Source: src/transformers/models/*/configuration_*.py, release 5; configuration_deepseek.py of
// deepseek-ai/deepseek-moe-16b-base.
#include "engine/presets/huggingface_expert_classes.h"

namespace trainmem {
namespace {

const HuggingFaceValue* find(const HuggingFaceConfig& config, std::string_view name) {
  for (const auto& [key, value] : config) {
    if (key == name && value.kind != HuggingFaceValue::Kind::null) return &value;
  }
  return nullptr;
}

template <class Number>
void read(const HuggingFaceConfig& config, std::string_view name, Number& target) {
  if (const auto* value = find(config, name)) target = static_cast<std::int64_t>(value->number);
}

}  // namespace

void read_expert_class(const HuggingFaceConfig& config, Model& model) {
  Experts& experts = model.experts;
  read(config, "num_nextn_predict_layers", model.num_nextn_predict_layers);
  if (model.model_type == "llama4_text") {
    // intermediate_size is an expert's width here, intermediate_size_mlp that of a dense layer.
    read(config, "intermediate_size", experts.moe_intermediate_size);
    model.intermediate_size = 16384;
    read(config, "intermediate_size_mlp", model.intermediate_size);
    read(config, "interleave_moe_layer_step", experts.moe_layer_freq);
    read(config, "attention_chunk_size", model.sliding_window);
    const auto* norm = find(config, "use_qk_norm");
    if (norm != nullptr && norm->number == 0) model.qk_norm = QkNorm::none;
  } else if (model.model_type == "gpt_oss") {
    read(config, "experts_per_token", experts.num_experts_per_tok);
    model.attention_output_bias = model.attention_bias;
    model.hidden_act = Activation::clamped_swiglu;  // hidden_act "silu" is the part of it that has a name
  } else if (model.model_type == "glm4_moe") {
    const auto* norm = find(config, "use_qk_norm");
    if (norm != nullptr && norm->number != 0) model.qk_norm = QkNorm::per_head;
  } else if (model.model_type == "dbrx") {
    read(config, "attn_config.kv_n_heads", model.num_key_value_heads);
    read(config, "ffn_config.ffn_hidden_size", model.intermediate_size);
    read(config, "ffn_config.moe_num_experts", experts.num_experts);
    read(config, "ffn_config.moe_top_k", experts.num_experts_per_tok);
    experts.moe_intermediate_size = model.intermediate_size;
  } else if (model.model_type == "minimax_m2") {
    const auto* turned = find(config, "rotary_dim");
    if (turned != nullptr && model.head_dim > 0) {
      model.partial_rotary_factor = turned->number / static_cast<double>(model.head_dim);
    }
  } else if (model.model_type == "granitemoe" || model.model_type == "granitemoeshared") {
    experts.moe_intermediate_size = model.intermediate_size;
    if (model.model_type == "granitemoeshared")
      read(config, "shared_intermediate_size", experts.shared_expert_intermediate_size);
    experts.n_shared_experts = experts.shared_expert_intermediate_size > 0 ? 1 : 0;
  } else if (model.model_type == "exaone_moe") {
    read(config, "num_shared_experts", experts.n_shared_experts);
  } else if (model.model_type == "hunyuan_v1_moe") {
    read(config, "moe_topk", experts.num_experts_per_tok);
    read(config, "moe_topk.0", experts.num_experts_per_tok);  // one number for each layer
    experts.moe_intermediate_size = model.intermediate_size;
  } else if (model.model_type == "ernie4_5_moe") {
    read(config, "moe_num_experts", experts.num_experts);
    read(config, "moe_k", experts.num_experts_per_tok);
    read(config, "moe_num_shared_experts", experts.n_shared_experts);
    read(config, "moe_layer_interval", experts.moe_layer_freq);
    read(config, "moe_layer_start_index", experts.first_k_dense_replace);
  } else if (model.model_type == "deepseek" || model.model_type == "deepseek_v2") {
    read(config, "moe_layer_freq", experts.moe_layer_freq);
  }
}

}  // namespace trainmem
