// Reads config.json keys over a class's defaults: names by which the classes call the same thing, then what
// single classes do otherwise.
#include "engine/presets/huggingface.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "engine/presets/huggingface_expert_classes.h"
#include "engine/presets/huggingface_unknown.h"

namespace trainmem {
namespace {

using Kind = HuggingFaceValue::Kind;
using Names = std::initializer_list<std::string_view>;

/// Looks keys up; the first name that stands in the configuration counts.
struct Keys {
  const HuggingFaceConfig& config;

  const HuggingFaceValue* find(std::string_view name) const {
    for (const auto& [key, value] : config) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  const HuggingFaceValue* find(Names names) const {
    for (const std::string_view name : names) {
      const HuggingFaceValue* value = find(name);
      if (value != nullptr && value->kind != Kind::null) return value;
    }
    return nullptr;
  }
  bool is_null(std::string_view name) const {
    const HuggingFaceValue* value = find(name);
    return value != nullptr && value->kind == Kind::null;
  }
  void read(std::int64_t& target, Names names) const {
    if (const auto* value = find(names); value != nullptr) target = static_cast<std::int64_t>(value->number);
  }
  void read(Size& target, Names names) const {
    if (const auto* value = find(names); value != nullptr) target = static_cast<std::int64_t>(value->number);
  }
  void read(double& target, Names names) const {
    if (const auto* value = find(names); value != nullptr) target = value->number;
  }
  void read(bool& target, Names names) const {
    if (const auto* value = find(names); value != nullptr) target = value->number != 0;
  }
  bool flag(std::string_view name, bool otherwise) const {
    bool value = otherwise;
    read(value, {name});
    return value;
  }
};

struct ActivationName {
  std::string_view name;
  Activation activation;
};
constexpr ActivationName activation_names[] = {
    {"silu", Activation::silu},
    {"swish", Activation::silu},
    {"gelu", Activation::gelu},
    {"gelu_new", Activation::gelu_new},
    {"relu", Activation::relu},
    {"relu2", Activation::relu2},
    {"gelu_pytorch_tanh", Activation::gelu_pytorch_tanh},
    {"gelu_fast", Activation::gelu_fast},
};

void not_modelled(Issues& issues, std::string path, std::string message) {
  issues.push_back({"not_yet_modelled", "/" + std::move(path), std::move(message), "Use a model without it."});
}

void read_activation(Model& model, const Keys& keys, Issues& issues) {
  const auto* value = keys.find({"hidden_activation", "hidden_act", "activation_function", "activation"});
  if (value == nullptr) return;
  for (const ActivationName& known : activation_names) {
    if (known.name == value->text) {
      model.hidden_act = known.activation;
      return;
    }
  }
  not_modelled(issues, "hidden_act", "The activation '" + value->text + "' is not known.");
}

void read_sizes(Model& model, const Keys& keys) {
  keys.read(model.vocab_size, {"vocab_size"});
  keys.read(model.hidden_size, {"hidden_size", "n_embd", "d_model"});
  keys.read(model.num_hidden_layers, {"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  keys.read(model.num_attention_heads, {"num_attention_heads", "n_head", "n_heads", "num_heads"});
  keys.read(model.num_key_value_heads, {"num_key_value_heads"});
  keys.read(model.head_dim, {"head_dim"});
  keys.read(model.intermediate_size, {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"});
  keys.read(model.max_position_embeddings, {"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"});
  keys.read(model.tie_word_embeddings, {"tie_word_embeddings"});
  keys.read(model.word_embed_proj_dim, {"word_embed_proj_dim"});
}

/// Classes whose attention_bias is that of all four projections.
constexpr std::string_view one_attention_bias[] = {"llama",
                                                   "granite",
                                                   "cohere",
                                                   "smollm3",
                                                   "olmo",
                                                   "olmo2",
                                                   "olmo3",
                                                   "qwen3",
                                                   "qwen3_moe",
                                                   "gemma",
                                                   "gemma2",
                                                   "gemma3_text",
                                                   "gpt_neox",
                                                   "nemotron",
                                                   "arcee",
                                                   "cohere2",
                                                   "hunyuan_v1_dense",
                                                   "hunyuan_v1_moe",
                                                   "flex_olmo",
                                                   "granitemoehybrid",
                                                   "nanochat",
                                                   "granitemoe",
                                                   "granitemoeshared",
                                                   "phimoe",
                                                   "qwen3_vl_text",
                                                   "qwen3_vl_moe_text"};

void read_switches(Model& model, const Keys& keys) {
  keys.read(model.attention_dropout, {"attention_dropout", "attn_pdrop", "attn_config.attn_pdrop"});
  keys.read(model.hidden_dropout, {"hidden_dropout", "resid_pdrop", "resid_dropout", "residual_dropout", "dropout"});
  keys.read(model.embedding_dropout, {"embedding_dropout", "embd_pdrop", "embed_dropout", "emb_pdrop"});
  keys.read(model.partial_rotary_factor,
            {"rope_parameters.partial_rotary_factor", "partial_rotary_factor", "rotary_pct", "rope_pct"});
  keys.read(model.attention_bias, {"attention_bias", "use_qkv_bias"});
  if (std::find(std::begin(one_attention_bias), std::end(one_attention_bias), model.model_type) !=
      std::end(one_attention_bias))
    model.attention_output_bias = model.attention_bias;
  keys.read(model.mlp_bias, {"mlp_bias"});
  keys.read(model.attn_logit_softcapping, {"attn_logit_softcapping"});
  keys.read(model.final_logit_softcapping, {"final_logit_softcapping"});
  if (keys.is_null("attn_logit_softcapping")) model.attn_logit_softcapping = 0;
  if (keys.is_null("final_logit_softcapping")) model.final_logit_softcapping = 0;
}

// The Qwen classes carry a window that only use_sliding_window puts to use, in the layers from max_window_layers on, as
// dots1 has one; SmolLM3 does so in its layers without positions.
// models/{qwen2,qwen3,dots1,smollm3}/configuration_*.py: layer_types.
void read_sliding_window(Model& model, const Keys& keys, Issues& issues) {
  const bool qwen = model.model_type.rfind("qwen", 0) == 0;
  const bool dots = model.model_type == "dots1";
  const bool smollm3 = model.model_type == "smollm3";
  if (keys.is_null("sliding_window") || !keys.flag("use_sliding_window", !qwen && !smollm3)) {
    model.sliding_window = 0;
    return;
  }
  keys.read(model.sliding_window, {"sliding_window"});
  keys.read(model.sliding_window_pattern, {"sliding_window_pattern"});
  const auto* pattern = keys.find({"sliding_window_pattern"});
  if (pattern != nullptr && pattern->kind == Kind::text) {  // EXAONE: a letter for each layer, L local and G global
    model.sliding_window_pattern = static_cast<std::int64_t>(pattern->text.size());
    if (pattern->text.find('G') + 1 != pattern->text.size())
      not_modelled(issues, "sliding_window_pattern",
                   "Full attention elsewhere than at the end of each turn is not modelled.");
  }
  std::int64_t first = qwen ? 28 : dots ? 62 : 0;
  keys.read(first, {"max_window_layers"});
  if ((qwen || dots) && first >= model.num_hidden_layers) {
    model.sliding_window = 0;
  } else if (((qwen || dots) && first > 0) || smollm3) {
    not_modelled(issues, "use_sliding_window", "A sliding window of some layers of this class is not modelled.");
  }
}

void read_experts(Model& model, const Keys& keys) {
  Experts& experts = model.experts;
  if (experts.num_experts == 0) return;
  keys.read(experts.num_experts, {"num_local_experts", "num_experts", "n_routed_experts"});
  keys.read(experts.num_experts_per_tok, {"num_experts_per_tok"});
  keys.read(experts.moe_intermediate_size, {"moe_intermediate_size"});
  keys.read(experts.n_shared_experts, {"n_shared_experts"});
  keys.read(experts.shared_expert_intermediate_size, {"shared_expert_intermediate_size"});
  keys.read(experts.first_k_dense_replace, {"first_k_dense_replace"});
  keys.read(experts.moe_layer_freq, {"decoder_sparse_step"});
  if (experts.moe_intermediate_size == 0) experts.moe_intermediate_size = model.intermediate_size;
}

void read_latent_attention(Model& model, const Keys& keys) {
  if (model.latent_attention.kv_lora_rank == 0) return;
  if (keys.is_null("q_lora_rank")) model.latent_attention.q_lora_rank = 0;
  keys.read(model.latent_attention.q_lora_rank, {"q_lora_rank"});
  keys.read(model.latent_attention.kv_lora_rank, {"kv_lora_rank"});
  keys.read(model.latent_attention.qk_nope_head_dim, {"qk_nope_head_dim"});
  keys.read(model.latent_attention.qk_rope_head_dim, {"qk_rope_head_dim"});
  keys.read(model.latent_attention.v_head_dim, {"v_head_dim"});
}

void read_falcon(Model& model, const Keys& keys) {
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
  const bool bias = keys.flag("bias", false);
  model.attention_bias = model.attention_output_bias = model.mlp_bias = bias;
  if (keys.flag("alibi", false)) model.positions = Positions::alibi;
}

// models/granitemoehybrid/configuration_granitemoehybrid.py: without layer_types every layer is Mamba's.
void read_granite_hybrid(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.intermediate_size, {"shared_intermediate_size"});
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    const std::string key = "layer_types." + std::to_string(i);
    const auto* kind = keys.find(std::string_view(key));
    if (kind != nullptr && kind->text == "attention") continue;
    return not_modelled(issues, "layer_types", "Mamba layers are not modelled.");
  }
  const auto* positions = keys.find({"position_embedding_type"});
  if (positions == nullptr || positions->text != "rope")
    not_modelled(issues, "position_embedding_type", "This class without RoPE is not modelled.");
  std::int64_t count = 8;
  keys.read(count, {"num_local_experts"});
  if (count > 0) not_modelled(issues, "num_local_experts", "Experts of this class are not modelled.");
}

void read_class(Model& model, const Keys& keys, Issues& issues) {
  const std::string& type = model.model_type;
  if (type == "gpt_neox") {
    model.embedding_dropout = model.hidden_dropout;
    model.parallel_attention_mlp = keys.flag("use_parallel_residual", true);
  } else if (type == "gptj") {
    double rotary_dim = 64;
    keys.read(rotary_dim, {"rotary_dim"});
    model.partial_rotary_factor =
        rotary_dim * static_cast<double>(model.num_attention_heads) / static_cast<double>(model.hidden_size);
  } else if (type == "phi3") {
    model.embedding_dropout = 0;  // Phi3Model has no place for embd_pdrop
  } else if (type == "opt") {
    if (!keys.flag("do_layer_norm_before", true)) model.norm_placement = NormPlacement::post;
    if (!keys.flag("do_layer_norm_before", true)) model.final_norm = false;
    const bool bias = keys.flag("enable_bias", true);
    model.attention_bias = model.attention_output_bias = model.mlp_bias = bias;
    model.learned_positions = model.max_position_embeddings + 2;
  } else if (type == "gpt2" || type == "gpt_bigcode" || type == "gpt_neo") {
    model.learned_positions = model.max_position_embeddings;
    if (type == "gpt_bigcode" && !keys.flag("multi_query", true)) model.num_key_value_heads = model.num_attention_heads;
  } else if (type == "mpt") {
    std::int64_t expansion_ratio = 4;
    keys.read(expansion_ratio, {"expansion_ratio"});
    model.intermediate_size = expansion_ratio * model.hidden_size;
    keys.read(model.num_key_value_heads, {"attn_config.kv_n_heads"});
    if (!keys.flag("no_bias", true)) not_modelled(issues, "no_bias", "MPT with biases is not modelled.");
    if (!keys.flag("attn_config.alibi", true))
      not_modelled(issues, "attn_config/alibi", "MPT without ALiBi is not modelled.");
  } else if (type == "falcon") {
    read_falcon(model, keys);
  } else if (type == "phi" || type == "stablelm") {
    if (keys.flag("qk_layernorm", false))
      not_modelled(issues, "qk_layernorm", "Normalised queries and keys of this class are not modelled.");
    if (type == "stablelm" && keys.flag("use_parallel_residual", false)) {
      model.parallel_attention_mlp = true;
      model.norms_per_layer = 1;
    }
  } else if (type == "starcoder2" || type == "ernie4_5") {
    const bool bias = keys.flag("use_bias", type == "starcoder2");
    model.attention_bias = model.attention_output_bias = model.mlp_bias = bias;
  } else if (type == "phimoe") {
    keys.read(model.lm_head_bias, {"lm_head_bias"});
    double jitter = 0;
    keys.read(jitter, {"input_jitter_noise"});
    if (jitter == 0)
      not_modelled(issues, "input_jitter_noise", "Experts of this class without jitter are not modelled.");
  } else if (type == "cohere") {
    keys.read(model.max_position_embeddings, {"model_max_length"});
    if (keys.flag("use_qk_norm", false)) model.qk_norm = QkNorm::full;  // one weight for each channel of each head
  } else if (type == "bloom") {
    if (keys.flag("apply_residual_connection_post_layernorm", false)) {
      not_modelled(issues, "apply_residual_connection_post_layernorm", "Residuals after the norm are not modelled.");
    }
  } else if (type == "olmo" || type == "olmoe") {
    if (keys.find({"clip_qkv"}) != nullptr)
      not_modelled(issues, "clip_qkv", "Clipped queries, keys and values are not modelled.");
  } else if (type == "seed_oss") {
    keys.read(model.attention_output_bias, {"attention_out_bias"});
  } else if (type == "granitemoehybrid") {
    read_granite_hybrid(model, keys, issues);
  } else if (type == "cohere2" || type == "exaone4" || type == "exaone_moe") {
    // RoPE in the sliding layers only; EXAONE has it everywhere where nothing slides.
    model.nope_every = model.sliding_window > 0 ? model.sliding_window_pattern : 0;
  } else if (type == "smollm3") {
    keys.read(model.nope_every, {"no_rope_layer_interval"});
  }
}

void derive(Model& model) {
  if (model.num_key_value_heads == 0) model.num_key_value_heads = model.num_attention_heads;
  if (model.head_dim == 0 && model.num_attention_heads != 0) {
    model.head_dim = model.hidden_size / model.num_attention_heads;
  }
  if (model.latent_attention.kv_lora_rank != 0) {
    model.head_dim = model.latent_attention.qk_nope_head_dim + model.latent_attention.qk_rope_head_dim;
  }
  if (model.intermediate_size == 0) model.intermediate_size = 4 * model.hidden_size;
  if (model.word_embed_proj_dim == model.hidden_size) model.word_embed_proj_dim = 0;
}

/// Configurations whose class, or whose language model's, has another name.
struct Renamed {
  std::string_view model_type;
  const char* of_class;
};
constexpr Renamed renamed[] = {
    {"kimi_k2", "deepseek_v3"},           {"gemma3", "gemma3_text"},         {"llama4", "llama4_text"},
    {"qwen2_vl", "qwen2_vl_text"},        {"qwen2_5_vl", "qwen2_5_vl_text"}, {"qwen3_vl", "qwen3_vl_text"},
    {"qwen3_vl_moe", "qwen3_vl_moe_text"}};

std::string class_of(const std::string& model_type) {
  for (const Renamed& one : renamed) {
    if (one.model_type == model_type) return one.of_class;
  }
  return model_type;
}

}  // namespace

Model model_from_huggingface(const HuggingFaceConfig& config, Issues& issues) {
  const Keys keys{config};
  const auto* model_type = keys.find({"model_type"});
  if (model_type == nullptr) {
    issues.push_back(
        {"missing_key", "/model_type", "The configuration names no model_type.", "Paste the whole config.json."});
    return {};
  }
  const Model* defaults = huggingface_defaults(class_of(model_type->text));
  if (defaults == nullptr) {
    issues.push_back(unknown_model_type(model_type->text));
    return {};
  }
  Model model = *defaults;
  // A class that has as many key/value heads as heads by default follows the number of heads that is given.
  if (model.num_key_value_heads == model.num_attention_heads) model.num_key_value_heads = 0;
  read_sizes(model, keys);
  read_switches(model, keys);
  read_activation(model, keys, issues);
  read_sliding_window(model, keys, issues);
  read_experts(model, keys);
  read_latent_attention(model, keys);
  read_class(model, keys, issues);
  if (model.experts.num_experts > 0) read_expert_class(config, model);
  derive(model);
  return model;
}

}  // namespace trainmem
