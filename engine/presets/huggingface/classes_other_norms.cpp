// The configuration classes that have other norms than Llama's, elsewhere or of another number, with what they come
// from.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include <string>
#include <vector>

#include "engine/config/layer_types.h"
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

Model cohere() {
  Model model = of_class("cohere", 256000, 8192, 40, 64, 0, 22528, 8192);
  model.norm = Norm::layernorm;
  model.norms_per_layer = 1;
  model.tie_word_embeddings = true;
  model.parallel_attention_mlp = true;
  return model;
}

void read_cohere(Model& model, const Keys& keys, Issues&) {
  keys.read(model.max_position_embeddings, {"model_max_length"});
  if (keys.flag("use_qk_norm", false)) model.qk_norm = QkNorm::full;  // one weight for each channel of each head
}

Model cohere2() {
  Model model = cohere();
  model.model_type = "cohere2";
  model.sliding_window = 4096;
  model.sliding_window_pattern = 4;
  model.nope_every = 4;
  return model;
}

Model cohere2_moe() {
  Model model = cohere();
  model.model_type = "cohere2_moe";
  model.head_dim = 128;
  model.sliding_window = 4096;
  model.sliding_window_pattern = 4;
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  return model;
}

/// The pattern begins anew after the dense layers, which have no window.
void set_layers_after_dense(Model& model) {
  std::vector<LayerType> layers;
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    const std::int64_t i = layer - model.experts.first_k_dense_replace;
    layers.push_back(i < 0 || layer_type(model, i) == LayerType::full_attention ? LayerType::full_attention
                                                                                : LayerType::sliding_attention);
  }
  model.layer_types = layer_types_text(layers);
}

// intermediate_size is an expert's width; prefix_dense_intermediate_size that of a dense layer.
void read_cohere2_moe(Model& model, const Keys& keys, Issues& issues) {
  const auto refuse = [&](const char* key, const char* what) {
    report_not_modelled_key(issues, key, std::string(what) + " of this class is not modelled.");
  };
  model.experts.moe_intermediate_size = model.intermediate_size;
  keys.read(model.intermediate_size, {"prefix_dense_intermediate_size"});
  keys.read(model.experts.n_shared_experts, {"num_shared_experts"});
  const auto* scores = keys.find({"expert_selection_fn"});
  if (scores == nullptr || scores->text != "sigmoid") refuse("expert_selection_fn", "A choice of experts by softmax");
  if (!keys.flag("norm_topk_prob", true))
    refuse("norm_topk_prob", "A choice of experts whose weights are not normalised");
  const auto* sum = keys.find({"shared_expert_combination_strategy"});
  if (sum != nullptr && sum->text != "average")
    refuse("shared_expert_combination_strategy", "A sum of experts that is no average");
  if (keys.find({"rms_norm_eps"}) != nullptr) refuse("rms_norm_eps", "An RMS norm");
  std::int64_t turn = 1;
  keys.read(turn, {"prefix_dense_sliding_window_pattern"});
  if (turn != 1) refuse("prefix_dense_sliding_window_pattern", "A window of dense layers");
  const bool listed = keys.find({"layer_types.0"}) != nullptr;
  if (!listed && model.experts.first_k_dense_replace > 0) set_layers_after_dense(model);
  if (!model.layer_types.empty()) model.sliding_window_pattern = Model().sliding_window_pattern;
}

/// Granite's class but for norms that stand after attention and MLP, too.
Model hyperclovax() {
  Model model = of_class("hyperclovax", 32000, 4096, 32, 32, 0, 11008, 2048);
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  return model;
}

void read_hyperclovax(Model&, const Keys& keys, Issues& issues) {
  if (!keys.flag("use_post_norm", true))
    report_not_modelled_key(issues, "use_post_norm", "This class without norms on outputs is not modelled.");
}

Model glm() {
  Model model = of_class("glm", 151552, 4096, 40, 32, 2, 13696, 131072);
  model.head_dim = 128;
  model.attention_bias = true;
  model.partial_rotary_factor = 0.5;
  return model;
}

Model glm4() {
  Model model = glm();
  model.model_type = "glm4";
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  return model;
}

/// The language model of GLM-4.1V.
Model glm4v() {
  Model model = of_class("glm4v_text", 151552, 4096, 40, 32, 2, 13696, 32768);
  model.attention_bias = true;
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  return model;
}

/// Whose biases no key says.
void read_glm4v(Model& model, const Keys&, Issues&) { model.attention_bias = model.model_type == "glm4v_text"; }

Model glm_ocr() {
  Model model = glm4v();
  model.model_type = "glm_ocr_text";
  sizes(model, 59392, 1024, 16, 16, 8, 4096, 131072);
  model.attention_bias = false;
  return model;
}

Model exaone4() {
  Model model = of_class("exaone4", 102400, 4096, 32, 32, 32, 16384, 2048);
  model.norm_placement = NormPlacement::post;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 4096;
  model.sliding_window_pattern = 4;
  model.nope_every = 4;
  return model;
}

Model olmo() {
  Model model = of_class("olmo", 50304, 4096, 32, 32, 0, 11008, 2048);
  model.norm = Norm::layernorm;
  model.norm_weight = false;
  return model;
}

Model olmo2() {
  Model model = of_class("olmo2", 50304, 4096, 32, 32, 0, 11008, 2048);
  model.norm_placement = NormPlacement::post;
  model.qk_norm = QkNorm::full;
  return model;
}

Model olmo3() {
  Model model = olmo2();
  model.model_type = "olmo3";
  model.sliding_window = 4096;
  model.sliding_window_pattern = 4;
  return model;
}

Model gemma() {
  Model model = of_class("gemma", 256000, 3072, 28, 16, 16, 24576, 8192);
  model.head_dim = 256;
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.tie_word_embeddings = true;
  return model;
}

Model gemma2() {
  Model model = gemma();
  model.model_type = "gemma2";
  sizes(model, 256000, 2304, 26, 8, 4, 9216, 8192);
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  model.sliding_window = 4096;
  model.sliding_window_pattern = 2;
  model.attn_logit_softcapping = 50.0;
  model.final_logit_softcapping = 30.0;
  return model;
}

Model vaultgemma() {
  Model model = gemma2();
  model.model_type = "vaultgemma";
  model.norm_placement = NormPlacement::pre;
  model.norms_per_layer = 2;
  return model;
}

Model gemma3_text() {
  Model model = gemma2();
  model.model_type = "gemma3_text";
  model.vocab_size = 262208;
  model.max_position_embeddings = 131072;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window_pattern = 6;
  model.attn_logit_softcapping = 0.0;
  model.final_logit_softcapping = 0.0;
  return model;
}

void read_gemma3(Model& model, const Keys&, Issues&) {
  model.attn_logit_softcapping = 0;  // models/gemma3/modeling_gemma3.py: Gemma3Attention.forward does not hand it on
}

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {
    {cohere(), all, read_cohere},
    {cohere2(), all, read_rope_where_sliding},
    {cohere2_moe(), all, read_cohere2_moe},
    {hyperclovax(), all, read_hyperclovax},
    {glm4v(), queries_keys_values, read_glm4v},
    {glm_ocr(), queries_keys_values, read_glm4v},
    {glm(), queries_keys_values},
    {glm4(), queries_keys_values},
    {exaone4(), none, read_rope_where_sliding},
    {olmo(), all, read_clip_qkv},
    {olmo2(), all},
    {olmo3(), all},
    {gemma(), all},
    {gemma2(), all},
    {vaultgemma(), all},
    {gemma3_text(), all, read_gemma3},
};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_other_norms() { return classes; }

}  // namespace trainmem
