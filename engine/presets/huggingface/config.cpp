// Reads config.json keys over a class's defaults: names by which the classes call the same thing. What single classes
// do otherwise their own readers say.
#include "engine/presets/huggingface/config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/config/fields.h"
#include "engine/config/layer_types.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"
#include "engine/presets/huggingface/unknown.h"
#include "engine/text/issue_text.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

using Kind = HuggingFaceValue::Kind;

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
    {"xielu", Activation::xielu},
};

void read_activation(Model& model, const HuggingFaceKeys& keys, Issues& issues) {
  const auto* value =
      keys.find({"mlp_hidden_act", "hidden_activation", "hidden_act", "activation_function", "activation"});
  if (value == nullptr) return;
  for (const ActivationName& known : activation_names) {
    if (known.name == value->text) {
      model.hidden_act = known.activation;
      return;
    }
  }
  report_not_modelled_key(issues, "hidden_act", "The activation " + in_quotes(value->text) + " is not known.");
}

void read_sizes(Model& model, const HuggingFaceKeys& keys) {
  keys.read(model.vocab_size, {"vocab_size"});
  keys.read(model.hidden_size, {"hidden_size", "n_embd", "d_model"});
  keys.read(model.num_hidden_layers, {"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  keys.read(model.num_attention_heads, {"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"});
  keys.read(model.num_key_value_heads, {"num_key_value_heads"});
  keys.read(model.head_dim, {"head_dim"});
  keys.read(model.intermediate_size, {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"});
  keys.read(model.max_position_embeddings, {"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"});
  keys.read(model.tie_word_embeddings, {"tie_word_embeddings"});
  keys.read(model.word_embed_proj_dim, {"word_embed_proj_dim"});
}

/// Kinds of layers are read layer by layer: only of as many as a model may have.
bool has_layers_in_range(const Model& model, Issues& issues) {
  const Field& layers = *find_field_by_path("/model/num_hidden_layers");
  const std::int64_t given = model.num_hidden_layers;
  if (static_cast<double>(given) >= layers.minimum && static_cast<double>(given) <= layers.maximum) return true;
  issues.push_back({"out_of_range", "/num_hidden_layers", "num_hidden_layers cannot be " + std::to_string(given) + ".",
                    "Give " + allowed_values(layers) + "."});
  return false;
}

void read_switches(Model& model, const HuggingFaceKeys& keys, HuggingFaceClass::AttentionBias bias) {
  keys.read(model.attention_dropout, {"attention_dropout", "attn_pdrop", "attn_config.attn_pdrop"});
  keys.read(model.hidden_dropout, {"hidden_dropout", "resid_pdrop", "resid_dropout", "residual_dropout", "dropout"});
  keys.read(model.embedding_dropout, {"embedding_dropout", "embd_pdrop", "embed_dropout", "emb_pdrop"});
  keys.read(model.partial_rotary_factor,
            {"rope_parameters.partial_rotary_factor", "partial_rotary_factor", "rotary_pct", "rope_pct"});
  if (bias != HuggingFaceClass::AttentionBias::none)
    keys.read(model.attention_bias, {"attention_bias", "use_qkv_bias", "qkv_bias"});
  if (bias == HuggingFaceClass::AttentionBias::all) model.attention_output_bias = model.attention_bias;
  keys.read(model.mlp_bias, {"mlp_bias"});
  keys.read(model.attn_logit_softcapping, {"attn_logit_softcapping"});
  keys.read(model.final_logit_softcapping, {"final_logit_softcapping"});
  if (keys.is_null("attn_logit_softcapping")) model.attn_logit_softcapping = 0;
  if (keys.is_null("final_logit_softcapping")) model.final_logit_softcapping = 0;
}

// The Qwen classes carry a window that only use_sliding_window puts to use, in the layers from max_window_layers on, as
// dots1 has one; SmolLM3 does so in its layers without positions.
// models/{qwen2,qwen3,dots1,smollm3}/configuration_*.py: layer_types.
void read_sliding_window(Model& model, const HuggingFaceKeys& keys, Issues& issues) {
  const bool qwen = model.model_type.rfind("qwen", 0) == 0;
  const bool dots = model.model_type == "dots1";
  const bool smollm3 = model.model_type == "smollm3";
  if (keys.is_null("sliding_window") || !keys.flag("use_sliding_window", !qwen && !smollm3)) {
    model.sliding_window = 0;
    return;
  }
  keys.read(model.sliding_window, {"sliding_window"});
  const auto* pattern = keys.find({"sliding_window_pattern"});
  if (pattern != nullptr && pattern->kind == Kind::text) {  // EXAONE: a letter for each layer, L local and G global
    model.sliding_window_pattern = static_cast<std::int64_t>(pattern->text.size());
    if (pattern->text.find('G') + 1 != pattern->text.size())
      report_not_modelled_key(issues, "sliding_window_pattern",
                              "Full attention elsewhere than at the end of each turn is not modelled.");
  } else {
    keys.read(model.sliding_window_pattern, {"sliding_window_pattern"});
  }
  std::int64_t first = qwen ? 28 : dots ? 62 : 0;
  keys.read(first, {"max_window_layers"});
  if (!qwen && !dots) return;
  const std::int64_t layers = model.num_hidden_layers;
  if (first >= layers) {
    model.sliding_window = 0;
  } else if (first > 0) {
    std::vector<LayerType> kinds(static_cast<std::size_t>(layers), LayerType::sliding_attention);
    std::fill_n(kinds.begin(), first, LayerType::full_attention);
    model.layer_types = layer_types_text(std::move(kinds));
  }
}

/// Classes that take no heed of output_router_logits: they have neither a loss of the logits nor a record of them.
constexpr const char* no_router_logits =
    "deepseek_v2,deepseek_ocr2_text,deepseek_v3,deepseek_v32,dots1,glm4_moe,glm4_moe_lite,glm_moe_dsa,"
    "hunyuan_v1_moe,lfm2_moe,mimo_v2_flash,mistral4,nemotron_h,solar_open,axk1";

void read_experts(Model& model, const HuggingFaceKeys& keys) {
  Experts& experts = model.experts;
  if (experts.num_experts == 0) return;
  if (keys.flag("output_router_logits", false) && !has_item(no_router_logits, model.model_type))
    experts.router_auxiliary_loss = RouterAuxiliaryLoss::unmasked;
  keys.read(experts.num_experts, {"num_local_experts", "num_experts", "n_routed_experts"});
  keys.read(experts.num_experts_per_tok, {"num_experts_per_tok"});
  keys.read(experts.moe_intermediate_size, {"moe_intermediate_size"});
  keys.read(experts.n_shared_experts, {"n_shared_experts"});
  keys.read(experts.shared_expert_intermediate_size, {"shared_expert_intermediate_size"});
  keys.read(experts.first_k_dense_replace, {"first_k_dense_replace"});
  keys.read(experts.moe_layer_freq, {"decoder_sparse_step"});
  keys.read(model.num_nextn_predict_layers, {"num_nextn_predict_layers"});
  if (experts.moe_intermediate_size == 0) experts.moe_intermediate_size = model.intermediate_size;
}

void read_latent_attention(Model& model, const HuggingFaceKeys& keys) {
  if (model.latent_attention.kv_lora_rank == 0) return;
  if (keys.is_null("q_lora_rank")) model.latent_attention.q_lora_rank = 0;
  keys.read(model.latent_attention.q_lora_rank, {"q_lora_rank"});
  keys.read(model.latent_attention.kv_lora_rank, {"kv_lora_rank"});
  keys.read(model.latent_attention.qk_nope_head_dim, {"qk_nope_head_dim"});
  keys.read(model.latent_attention.qk_rope_head_dim, {"qk_rope_head_dim"});
  keys.read(model.latent_attention.v_head_dim, {"v_head_dim"});
}

void read_linear_attention(Model& model, const HuggingFaceKeys& keys) {
  LinearAttention& linear = model.linear_attention;
  if (linear.linear_num_key_heads == 0) return;
  keys.read(linear.linear_num_key_heads, {"linear_num_key_heads"});
  keys.read(linear.linear_num_value_heads, {"linear_num_value_heads"});
  keys.read(linear.linear_key_head_dim, {"linear_key_head_dim"});
  keys.read(linear.linear_value_head_dim, {"linear_value_head_dim"});
  keys.read(linear.linear_conv_kernel_dim, {"linear_conv_kernel_dim"});
}

void derive(Model& model) {
  if (model.num_key_value_heads == 0) model.num_key_value_heads = model.num_attention_heads;
  const std::int64_t heads = model.num_attention_heads.recorded();
  if (model.head_dim == 0 && heads > 0) model.head_dim = model.hidden_size / heads;
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
constexpr Renamed renamed[] = {{"kimi_k2", "deepseek_v3"},
                               {"kimi_k25", "deepseek_v3"},
                               {"gemma3", "gemma3_text"},
                               {"gemma3n", "gemma3n_text"},
                               {"gemma4", "gemma4_text"},
                               {"gemma4_unified", "gemma4_unified_text"},
                               {"llama4", "llama4_text"},
                               {"llava_llama", "llama"},
                               {"llava_mistral", "mistral"},
                               {"llava_qwen", "qwen2"},
                               {"phi3_v", "phi3"},
                               {"phi4mm", "phi3"},
                               {"phi4_multimodal", "phi3"},
                               {"qwen2_vl", "qwen2_vl_text"},
                               {"qwen2_5_vl", "qwen2_5_vl_text"},
                               {"qwen2_5_omni_text", "qwen2_5_vl_text"},
                               {"qwen3_vl", "qwen3_vl_text"},
                               {"qwen3_vl_moe", "qwen3_vl_moe_text"},
                               {"qwen3_5", "qwen3_5_text"},
                               {"qwen3_5_moe", "qwen3_5_moe_text"},
                               {"paddleocr_vl", "paddleocr_vl_text"}};

std::string class_of(const std::string& model_type) {
  for (const Renamed& one : renamed) {
    if (one.model_type == model_type) return one.of_class;
  }
  return model_type;
}

}  // namespace

const Model* huggingface_defaults(std::string_view model_type) {
  const HuggingFaceClass* own = find_huggingface_class(model_type);
  return own == nullptr ? nullptr : &own->defaults;
}

Model model_from_huggingface(const HuggingFaceConfig& config, Issues& issues, std::vector<bool>* asked) {
  const HuggingFaceKeys keys(config);
  const auto* given = keys.find({"model_type"});
  std::string model_type = given != nullptr ? given->text : "";
  // DeepSeek-OCR and DeepSeek-VL2 name their language model's class alone, and say that it has ordinary attention.
  const auto* architecture = given == nullptr ? keys.find({"architectures.0"}) : nullptr;
  if (architecture != nullptr && architecture->text == "DeepseekV2ForCausalLM") model_type = "deepseek_v2";
  if (model_type == "deepseek_v2" && !keys.flag("use_mla", true)) model_type = "deepseek_ocr2_text";
  if (model_type.empty()) {
    issues.push_back(
        {"missing", "/model_type", "The configuration names no model_type.", "Paste the whole config.json."});
    return {};
  }
  const HuggingFaceClass* own = find_huggingface_class(class_of(model_type));
  if (own == nullptr) {
    issues.push_back(unknown_model_type(model_type));
    return {};
  }
  Model model = own->defaults;
  // A class that has as many key/value heads as heads by default follows the number of heads that is given.
  if (model.num_key_value_heads == model.num_attention_heads) model.num_key_value_heads = 0;
  read_sizes(model, keys);
  if (!has_layers_in_range(model, issues)) return model;
  read_switches(model, keys, own->attention_bias);
  read_activation(model, keys, issues);
  read_sliding_window(model, keys, issues);
  read_layer_types(model, keys);
  read_experts(model, keys);
  read_latent_attention(model, keys);
  read_linear_attention(model, keys);
  if (own->read != nullptr) own->read(model, keys, issues);
  // Cut short, so that no layer slides.
  if (!model.layer_types.empty() && !has_layer_type(model, LayerType::sliding_attention)) model.sliding_window = 0;
  read_mlp_layer_types(model, keys, issues);
  keys.report_texts(issues);
  derive(model);
  if (asked != nullptr) *asked = keys.asked();
  return model;
}

}  // namespace trainmem
