// The configuration classes whose layers with a window are other layers than those without: laguna, mimo_v2_flash have
// heads of another number there, granite_swa, granitemoe_swa and modernbert-decoder have their own turn of both kinds.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.16.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/config/layer_types.h"
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

constexpr LayerType sliding = LayerType::sliding_attention;
constexpr LayerType full = LayerType::full_attention;

/// The kinds as the class makes them where no list says them: `attends_to_all` of each layer's number.
template <typename Predicate>
void set_kinds(Model& model, const Keys& keys, Predicate attends_to_all) {
  if (keys.find({"layer_types.0"}) != nullptr) return;
  std::vector<LayerType> kinds;
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) kinds.push_back(attends_to_all(i) ? full : sliding);
  model.layer_types = layer_types_text(std::move(kinds));
  model.sliding_window_pattern = 1;
}

/// A model of which no layer slides has no window, and one of which all do needs no list.
void settle_window(Model& model) {
  if (!has_layer_type(model, sliding)) {
    model.sliding_window = 0;
    model.layer_types.clear();
  } else if (!has_layer_type(model, full)) {
    model.layer_types.clear();
  }
}

/// Refuses tables of a kind of layers that turn another share of a head than `share`.
void check_turning(const Model& model, const Keys& keys, LayerType kind, double otherwise, double share,
                   Issues& issues) {
  const std::string path = std::string("rope_parameters.") + word(kind) + ".partial_rotary_factor";
  double given = otherwise;
  keys.read(given, {path});
  const auto width = [&](double of_head) {
    return static_cast<std::int64_t>(static_cast<double>(model.head_dim) * of_head);
  };
  if (has_layer_type(model, kind) && width(given) != width(share))
    report_not_modelled_key(issues, std::string("rope_parameters/") + word(kind) + "/partial_rotary_factor",
                            "Layers of this class that turn another share of a head are not modelled.");
}

Experts experts_of(std::int64_t count, std::int64_t chosen, std::int64_t width) {
  Experts experts;
  experts.num_experts = count;
  experts.num_experts_per_tok = chosen;
  experts.moe_intermediate_size = width;
  experts.first_k_dense_replace = 1;
  experts.router_bias = true;
  return experts;
}

Model laguna() {
  Model model = of_class("laguna", 100352, 2048, 40, 48, 8, 8192, 131072);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  model.sliding_window = 512;
  model.partial_rotary_factor = 0.5;
  model.experts = experts_of(256, 8, 512);
  model.experts.n_shared_experts = 1;
  model.experts.shared_expert_intermediate_size = 512;
  return model;
}

/// num_attention_heads_per_layer: one number for the layers of each kind.
void read_heads_of_layers(Model& model, const Keys& keys, Issues& issues) {
  std::int64_t heads[] = {0, 0};  // of layers with a window, and of the others
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    std::int64_t here = model.num_attention_heads;
    keys.read(here, {"num_attention_heads_per_layer." + std::to_string(i)});
    std::int64_t& of_kind = heads[layer_type(model, i) == sliding ? 0 : 1];
    if (of_kind != 0 && of_kind != here)
      return report_not_modelled_key(issues, "num_attention_heads_per_layer",
                                     "Layers of one kind with different numbers of heads are not modelled.");
    of_kind = here;
  }
  model.num_attention_heads = heads[1] > 0 ? heads[1] : heads[0];
  model.num_sliding_attention_heads = heads[0] > 0 && heads[0] != heads[1] && heads[1] > 0 ? heads[0] : 0;
}

// models/laguna/configuration_laguna.py: LagunaConfig.__post_init__.
void read_laguna(Model& model, const Keys& keys, Issues& issues) {
  set_kinds(model, keys, [](std::int64_t) { return true; });
  settle_window(model);
  read_heads_of_layers(model, keys, issues);
  const bool tables = keys.find({"rope_parameters.full_attention.rope_type"}) != nullptr ||
                      keys.find({"rope_parameters.full_attention.rope_theta"}) != nullptr;
  model.partial_rotary_factor = tables ? 1.0 : 0.5;
  keys.read(model.partial_rotary_factor, {"rope_parameters.full_attention.partial_rotary_factor"});
  check_turning(model, keys, sliding, 1.0, 1.0, issues);
  const auto* gating = keys.find({"gating"});
  if (gating != nullptr && gating->text != "per-head" && gating->number == 0)
    report_not_modelled_key(issues, "gating", "A gate of every channel of this class is not modelled.");
  double cap = 0;
  keys.read(cap, {"moe_router_logit_softcapping"});
  if (cap > 0)
    report_not_modelled_key(issues, "moe_router_logit_softcapping", "Capped logits of routers are not modelled.");
  if (keys.flag("moe_apply_router_weight_on_input", false))
    report_not_modelled_key(issues, "moe_apply_router_weight_on_input", "transformers refuses this key, too.");
}

/// The language model of North Micro Vision.
Model cohere_compass() {
  Model model = of_class("cohere_compass_text", 256000, 8192, 40, 64, 0, 22528, 8192);
  model.norm = Norm::layernorm;
  model.norms_per_layer = 1;
  model.parallel_attention_mlp = true;
  model.tie_word_embeddings = true;
  model.sliding_window = 4096;
  return model;
}

// models/cohere_compass/configuration_cohere_compass.py: a kind of layers whose rope_parameters are null has no
// positions.
void read_cohere_compass(Model& model, const Keys& keys, Issues& issues) {
  set_kinds(model, keys, [](std::int64_t) { return true; });
  settle_window(model);
  const bool of_sliding = keys.is_null("rope_parameters.sliding_attention");
  const bool of_full = keys.is_null("rope_parameters.full_attention");
  if (of_full && model.sliding_window > 0 && model.layer_types.empty() && !of_sliding)
    model.nope_every = model.sliding_window_pattern;
  else if (of_full || of_sliding)
    report_not_modelled_key(issues, "rope_parameters", "Such layers of this class without positions are not modelled.");
}

/// Step 3.5 Flash, and the language model of Step 3.7 Flash.
Model step3p5() {
  Model model = of_class("step3p5", 128815, 4096, 45, 64, 8, 11264, 128000);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  model.experts = experts_of(288, 8, 1280);
  model.experts.first_k_dense_replace = 3;
  model.experts.n_shared_experts = 1;
  model.experts.shared_expert_intermediate_size = 1280;
  return model;
}

/// moe_layers_enum: the numbers of the layers with experts, "3,4,5"; the layers before the first one are dense.
void read_sparse_layers(Model& model, const Keys& keys, Issues& issues) {
  const auto* listed = keys.find({"moe_layers_enum"});
  if (listed == nullptr || listed->text.empty()) return;
  std::int64_t next = -1;
  bool leading = true;
  for_each_item(listed->text, [&](std::string_view item) {
    std::int64_t layer = 0;
    for (const char digit : item)
      if (digit >= '0' && digit <= '9') layer = std::min(10 * layer + (digit - '0'), std::int64_t{1000000});
    if (layer >= model.num_hidden_layers) return;
    if (next < 0) model.experts.first_k_dense_replace = layer;
    leading = leading && (next < 0 || layer == next);
    next = layer + 1;
  });
  if (!leading || next != model.num_hidden_layers)
    report_not_modelled_key(issues, "moe_layers_enum", "Dense layers after layers with experts are not modelled.");
}

// models/step3p7/configuration_step3p7.py: Step3p7TextConfig.__post_init__.
void read_step3p5(Model& model, const Keys& keys, Issues& issues) {
  set_kinds(model, keys, [](std::int64_t) { return true; });
  settle_window(model);
  keys.read(model.num_key_value_heads, {"num_attention_groups"});
  keys.read(model.experts.num_experts, {"n_routed_experts", "moe_num_experts"});
  keys.read(model.experts.num_experts_per_tok, {"moe_top_k"});
  keys.read(model.experts.shared_expert_intermediate_size, {"share_expert_dim", "share_expert_dims"});
  read_sparse_layers(model, keys, issues);
  model.num_sliding_attention_heads = 0;
  keys.read(model.num_sliding_attention_heads,
            {"num_sliding_attention_heads", "attention_other_setting.num_attention_heads"});
  if (!has_layer_type(model, full) && model.num_sliding_attention_heads > 0)
    model.num_attention_heads = model.num_sliding_attention_heads;
  if (!has_layer_type(model, full) || !has_layer_type(model, sliding) ||
      model.num_sliding_attention_heads == model.num_attention_heads)
    model.num_sliding_attention_heads = 0;
  // Each kind's share stands in a list for all layers, or with the kind's other figures.
  double shares[] = {1.0, 1.0};
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i)
    keys.read(shares[layer_type(model, i) == sliding ? 1 : 0], {"partial_rotary_factors." + std::to_string(i)});
  keys.read(shares[0], {"rope_parameters.full_attention.partial_rotary_factor"});
  keys.read(shares[1], {"rope_parameters.sliding_attention.partial_rotary_factor"});
  model.partial_rotary_factor = shares[0];
  check_turning(model, keys, sliding, shares[1], 1.0, issues);
  if (keys.flag("use_bidirectional_attention", false))
    report_not_modelled_key(issues, "use_bidirectional_attention", "Attention to later tokens is not modelled.");
}

/// The language model of Muse Glimmer.
Model muse_glimmer() {
  Model model = of_class("muse_glimmer_text", 202048, 6656, 52, 32, 2, 19968, 131072);
  model.head_dim = 128;
  model.qk_norm = QkNorm::per_head;
  model.norm_placement = NormPlacement::pre_and_post;
  model.norms_per_layer = 4;
  model.sliding_window = 2048;
  model.layer_types = "3*sliding_attention,full_attention";
  model.final_logit_softcapping = 20.0;
  return model;
}

// models/muse_glimmer/configuration_muse_glimmer.py: every fourth layer, counted from the last, has neither window nor
// positions.
void read_muse_glimmer(Model& model, const Keys& keys, Issues& issues) {
  const std::int64_t layers = model.num_hidden_layers;
  set_kinds(model, keys, [layers](std::int64_t i) { return (layers - 1 - i) % 4 == 0; });
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool slides = layer_type(model, i) == sliding;
    double theta = slides ? 1 : 0;
    keys.read(theta, {"layer_rope_theta." + std::to_string(i)});
    if ((theta > 0) != slides)
      return report_not_modelled_key(issues, "layer_rope_theta",
                                     "Positions in other layers of this class than those with a window are not "
                                     "modelled.");
  }
}

Model granite_swa() {
  Model model = of_class("granite_swa", 100352, 2560, 24, 20, 4, 8192, 8192);
  model.sliding_window = 128;
  model.attention_sinks = true;
  model.tie_word_embeddings = true;
  return model;
}

// models/granite_swa/configuration_granite_swa.py: GraniteSWAConfig.__post_init__.
void read_granite_swa(Model& model, const Keys& keys, Issues& issues) {
  set_kinds(model, keys, [](std::int64_t layer) { return layer % 4 == 0; });
  settle_window(model);
  double of_first = 0;
  if (keys.find({"layer_rope_theta.0"}) == nullptr) return;
  keys.read(of_first, {"layer_rope_theta.0"});
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    double theta = of_first;
    keys.read(theta, {"layer_rope_theta." + std::to_string(i)});
    if (theta == of_first && theta > 0) continue;
    return report_not_modelled_key(
        issues, "layer_rope_theta",
        "Layers of this class that turn by different tables, or not at all, are not modelled.");
  }
}

Model granitemoe_swa() {
  Model model = of_class("granitemoe_swa", 32000, 4096, 32, 32, 0, 11008, 2048);
  model.sliding_window = 128;
  model.attention_sinks = true;
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  return model;
}

void read_granitemoe_swa(Model& model, const Keys& keys, Issues& issues) {
  read_granite_swa(model, keys, issues);
  keys.read(model.experts.shared_expert_intermediate_size, {"shared_intermediate_size"});
  model.experts.moe_intermediate_size = model.intermediate_size;
  model.experts.n_shared_experts = model.experts.shared_expert_intermediate_size > 0 ? 1 : 0;
}

Model mimo_v2_flash() {
  Model model = of_class("mimo_v2_flash", 152576, 4096, 48, 64, 8, 16384, 131072);
  model.num_global_key_value_heads = 4;
  model.head_dim = 192;
  model.latent_attention.v_head_dim = 128;
  model.sliding_window = 128;
  model.attention_sinks = true;
  model.partial_rotary_factor = 0.334;
  model.experts = experts_of(256, 8, 2048);
  return model;
}

/// Keys of the checkpoint's own class, which transformers does not read: they say the same, or are refused.
void check_own_class(const Model& model, const Keys& keys, Issues& issues) {
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    const bool slides = layer_type(model, i) == sliding;
    if (keys.flag("hybrid_layer_pattern." + std::to_string(i), slides) != slides)
      return report_not_modelled_key(issues, "hybrid_layer_pattern",
                                     "transformers takes layer_types, which say other kinds of layers.");
  }
  struct {
    const char* key;
    std::int64_t expected;
  } const numbers[] = {{"swa_num_attention_heads", model.num_attention_heads},
                       {"swa_num_key_value_heads", model.num_key_value_heads},
                       {"swa_head_dim", model.head_dim},
                       {"swa_v_head_dim", model.latent_attention.v_head_dim},
                       {"add_swa_attention_sink_bias", 1},
                       {"add_full_attention_sink_bias", 0},
                       {"norm_topk_prob", 1},
                       {"n_shared_experts", 0}};
  for (const auto& [key, expected] : numbers) {
    std::int64_t given = expected;
    keys.read(given, {key});
    if (given != expected)
      report_not_modelled_key(issues, key, "Another value than that of transformers' class is not modelled.");
  }
}

// models/mimo_v2_flash/configuration_mimo_v2_flash.py: MiMoV2FlashConfig.__post_init__.
void read_mimo_v2_flash(Model& model, const Keys& keys, Issues& issues) {
  set_kinds(model, keys, [](std::int64_t i) { return i == 0 || (i + 1) % 6 == 0; });
  settle_window(model);
  // Layers with a window have twice as many key and value heads as the configuration says.
  std::int64_t heads = 4;
  keys.read(heads, {"num_key_value_heads"});
  const bool slides = has_layer_type(model, sliding);
  model.num_key_value_heads = slides ? 2 * heads : heads;
  model.num_global_key_value_heads = slides ? heads : 0;
  keys.read(model.latent_attention.v_head_dim, {"v_head_dim"});
  model.partial_rotary_factor = 0.334;
  keys.read(model.partial_rotary_factor, {"rope_parameters.full_attention.partial_rotary_factor"});
  check_turning(model, keys, sliding, 0.334, model.partial_rotary_factor, issues);
  model.experts.n_shared_experts = 0;
  model.num_nextn_predict_layers = 0;
  check_own_class(model, keys, issues);
}

Model modernbert_decoder() {
  Model model = of_class("modernbert-decoder", 50368, 768, 22, 12, 0, 1152, 8192);
  model.hidden_act = Activation::gelu;
  model.norm = Norm::layernorm;
  model.embedding_norm = true;
  model.lm_head_bias = true;
  model.tie_word_embeddings = true;
  model.sliding_window = 64;
  model.layer_types = "full_attention,2*sliding_attention";
  return model;
}

// models/modernbert_decoder/configuration_modernbert_decoder.py: the window is half of what local_attention says.
void read_modernbert_decoder(Model& model, const Keys& keys, Issues& issues) {
  std::int64_t both_sides = 128;
  keys.read(both_sides, {"local_attention"});
  model.sliding_window = both_sides / 2;
  std::int64_t every = 3;
  keys.read(every, {"global_attn_every_n_layers"});
  if (keys.find({"layer_types.0"}) == nullptr && every > 0) {
    model.layer_types = word(full);
    if (every > 1) model.layer_types += "," + std::to_string(every - 1) + "*" + word(sliding);
  }
  keys.read(model.norm_bias, {"norm_bias"});
  keys.read(model.lm_head_bias, {"decoder_bias"});
  keys.read(model.hidden_dropout, {"mlp_dropout"});
  if (keys.flag("classifier_bias", false))
    report_not_modelled_key(issues, "classifier_bias", "A bias of this class's prediction head is not modelled.");
  const auto* activation = keys.find({"classifier_activation"});
  if (activation != nullptr && activation->text != "gelu")
    report_not_modelled_key(issues, "classifier_activation",
                            "Another activation of this class's prediction head than GELU is not modelled.");
}

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {
    {cohere_compass(), all, read_cohere_compass},
    {step3p5(), all, read_step3p5},
    {muse_glimmer(), all, read_muse_glimmer},
    {modernbert_decoder(), all, read_modernbert_decoder},
    {laguna(), all, read_laguna},
    {granite_swa(), all, read_granite_swa},
    {granitemoe_swa(), all, read_granitemoe_swa},
    {mimo_v2_flash(), queries_keys_values, read_mimo_v2_flash},
};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_sliding() { return classes; }

}  // namespace trainmem
