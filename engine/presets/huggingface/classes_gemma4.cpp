// The configuration classes of Gemma 3n and of Gemma 4: dense, with experts beside the MLP, with embeddings of each
// layer.
//
// Source: src/transformers/models/gemma3n, gemma4 and gemma4_unified, configuration_*.py, release 5.16.
#include <string>

#include "engine/config/layer_types.h"
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

Model gemma4_text() {
  Model model = of_class("gemma4_text", 262144, 2304, 30, 8, 4, 9216, 131072);
  model.head_dim = 256;
  model.global_head_dim = 512;
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.tie_word_embeddings = true;
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 512;
  model.sliding_window_pattern = 6;
  model.hidden_size_per_layer_input = 256;
  model.vocab_size_per_layer_input = 262144;
  return model;
}

Model gemma4_unified_text() {
  Model model = gemma4_text();
  model.model_type = "gemma4_unified_text";
  model.max_position_embeddings = 262144;
  model.sliding_window = 1024;
  model.hidden_size_per_layer_input = model.vocab_size_per_layer_input = 0;
  return model;
}

Model gemma3n_text() {
  Model model = of_class("gemma3n_text", 262400, 2048, 35, 8, 2, 16384, 32768);
  model.head_dim = 256;
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.tie_word_embeddings = true;
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 512;
  model.sliding_window_pattern = 5;
  model.final_logit_softcapping = 30;
  model.hidden_size_per_layer_input = 256;
  model.vocab_size_per_layer_input = 262144;
  model.num_kv_shared_layers = 15;
  model.altup_num_inputs = 4;
  model.laurel_rank = 64;
  model.activation_sparsity_layers = 10;
  return model;
}

/// Gemma4TextConfig.__post_init__: the last layer has no window, whatever is said of it.
void end_without_window(Model& model, Issues& issues) {
  if (layer_type(model, model.num_hidden_layers - 1) == LayerType::full_attention) return;
  report_not_modelled_key(issues, "layer_types",
                          "A last layer with a window, which the class changes, is not modelled.");
}

void read_attention(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.global_head_dim, {"global_head_dim"});
  keys.read(model.attention_k_eq_v, {"attention_k_eq_v"});
  if (model.attention_k_eq_v) keys.read(model.num_global_key_value_heads, {"num_global_key_value_heads"});
  keys.read(model.num_kv_shared_layers, {"num_kv_shared_layers"});
  keys.read(model.use_double_wide_mlp, {"use_double_wide_mlp"});
  if (!model.layer_types.empty()) model.sliding_window_pattern = 1;
  end_without_window(model, issues);
  const auto* bidirectional = keys.find({"use_bidirectional_attention"});
  if (bidirectional != nullptr && bidirectional->text == "all")
    report_not_modelled_key(issues, "use_bidirectional_attention", "Attention to later tokens is not modelled.");
}

void read_gemma4(Model& model, const Keys& keys, Issues& issues) {
  read_attention(model, keys, issues);
  keys.read(model.hidden_size_per_layer_input, {"hidden_size_per_layer_input"});
  keys.read(model.vocab_size_per_layer_input, {"vocab_size_per_layer_input"});
  if (keys.is_null("hidden_size_per_layer_input")) model.hidden_size_per_layer_input = 0;
  if (model.hidden_size_per_layer_input == 0) model.vocab_size_per_layer_input = 0;
  if (!keys.flag("enable_moe_block", false)) return;
  keys.read(model.experts.num_experts, {"num_experts"});
  keys.read(model.experts.num_experts_per_tok, {"top_k_experts"});
  keys.read(model.experts.moe_intermediate_size, {"moe_intermediate_size"});
}

/// Its language model has the layers of Gemma 4, without experts and without embeddings of each layer.
void read_gemma4_unified(Model& model, const Keys& keys, Issues& issues) {
  model.model_type = "gemma4_text";
  read_attention(model, keys, issues);
}

/// One width for all layers, also where a list says it for each.
void read_widths(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.intermediate_size, {"intermediate_size.0"});
  for (std::int64_t i = 1; i < model.num_hidden_layers; ++i) {
    Size width = model.intermediate_size;
    keys.read(width, {"intermediate_size." + std::to_string(i)});
    if (width == model.intermediate_size) continue;
    report_not_modelled_key(issues, "intermediate_size", "MLPs of several widths are not modelled.");
    return;
  }
}

/// Layers with sparse activations are the first ones. Gemma3nTextConfig.__post_init__ has ten of more than ten.
void read_sparsity(Model& model, const Keys& keys, Issues& issues) {
  std::int64_t& layers = model.activation_sparsity_layers;
  layers = model.num_hidden_layers > 10 ? 10 : 0;
  if (keys.find({"activation_sparsity_pattern.0"}) == nullptr) return;
  layers = 0;
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    double share = 0;
    keys.read(share, {"activation_sparsity_pattern." + std::to_string(i)});
    if (share <= 0) continue;
    if (layers < i) {
      report_not_modelled_key(issues, "activation_sparsity_pattern",
                              "Sparse activations in other layers than the first ones are not modelled.");
      return;
    }
    layers = i + 1;
  }
}

void read_gemma3n(Model& model, const Keys& keys, Issues& issues) {
  if (!model.layer_types.empty()) model.sliding_window_pattern = 1;
  keys.read(model.num_kv_shared_layers, {"num_kv_shared_layers"});
  keys.read(model.hidden_size_per_layer_input, {"hidden_size_per_layer_input"});
  keys.read(model.vocab_size_per_layer_input, {"vocab_size_per_layer_input"});
  keys.read(model.altup_num_inputs, {"altup_num_inputs"});
  keys.read(model.laurel_rank, {"laurel_rank"});
  read_widths(model, keys, issues);
  read_sparsity(model, keys, issues);
  if (!keys.flag("altup_correct_scale", true) || keys.is_null("altup_coef_clip"))
    report_not_modelled_key(issues, "altup_correct_scale", "Streams without their scale or clip are not modelled.");
}

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {{gemma4_text(), all, read_gemma4},
                                    {gemma3n_text(), all, read_gemma3n},
                                    {gemma4_unified_text(), all, read_gemma4_unified}};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_gemma4() { return classes; }

}  // namespace trainmem
