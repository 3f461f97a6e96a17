// The configuration classes whose layers are of several kinds: convolutions, Mamba, linear attention.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/config/layer_types.h"
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

/// Their Mamba layers, which older configurations call mamba, are layers of linear attention to release 5.
void name_mamba(Model& model) {
  std::string text;
  Issue issue;
  std::string pattern = model.layer_types;
  const std::string linear = word(LayerType::linear_attention);
  for (std::size_t at = pattern.find(linear); at != std::string::npos; at = pattern.find(linear))
    pattern.replace(at, linear.size(), word(LayerType::mamba));
  if (normalize_layer_types(pattern, text, issue)) model.layer_types = text;
}

/// Keys of Mamba 2 as Granite, Bamba and Falcon-H1 call them; `width`: what the heads make up.
void read_mamba(Model& model, const Keys& keys, std::int64_t width, Issues& issues) {
  Mamba& mamba = model.mamba;
  mamba = {.n_heads = 128, .d_head = 0, .n_groups = 1, .d_state = 256};
  keys.read(mamba.n_heads, {"mamba_n_heads"});
  keys.read(mamba.d_head, {"mamba_d_head"});
  keys.read(mamba.n_groups, {"mamba_n_groups"});
  keys.read(mamba.d_state, {"mamba_d_state"});
  keys.read(mamba.d_conv, {"mamba_d_conv"});
  keys.read(mamba.chunk_size, {"mamba_chunk_size"});
  keys.read(mamba.conv_bias, {"mamba_conv_bias"});
  keys.read(mamba.proj_bias, {"mamba_proj_bias"});
  if (mamba.d_head == 0 && mamba.n_heads > 0) mamba.d_head = width / mamba.n_heads;  // "auto"
  if (mamba.n_heads * mamba.d_head != width)
    report_not_modelled_key(issues, "mamba_n_heads", "The class refuses heads that do not make up the inner width.");
}

std::int64_t expanded_width(const Model& model, const Keys& keys) {
  std::int64_t expand = 2;
  keys.read(expand, {"mamba_expand"});
  return expand * model.hidden_size;
}

/// The layers as letters, of which Nemotron-H's configurations had one for each.
std::string pattern_of_letters(const std::string& letters) {
  std::vector<LayerType> pattern;
  for (const char letter : letters) {
    pattern.push_back(letter == 'M'   ? LayerType::mamba
                      : letter == '*' ? LayerType::full_attention
                      : letter == 'E' ? LayerType::moe
                                      : LayerType::mlp);
  }
  return layer_types_text(std::move(pattern));
}

/// Qwen3-Next and Qwen3.5: gated attention in every fourth layer, gated delta networks in the others.
void gated_delta_net(Model& model) {
  model.head_dim = 256;
  model.partial_rotary_factor = 0.25;
  model.qk_norm = QkNorm::per_head;
  model.layer_types = "3*linear_attention,full_attention";
  model.linear_attention = {16, 32, 128, 128, 4};
}

/// Without Mamba layers and experts, which the class's own keys say.
Model granitemoehybrid() { return of_class("granitemoehybrid", 32000, 4096, 32, 32, 0, 1024, 2048); }

// models/granitemoehybrid/configuration_granitemoehybrid.py: without layer_types every layer is Mamba's. The MLP that
// all tokens share stands beside the experts, or alone.
void read_granite_hybrid(Model& model, const Keys& keys, Issues& issues) {
  if (keys.find({"layer_types.0"}) == nullptr) model.layer_types = word(LayerType::mamba);
  name_mamba(model);
  const auto* positions = keys.find({"position_embedding_type"});
  if (positions == nullptr || positions->text != "rope") model.positions = Positions::none;
  std::int64_t shared = 1024;
  keys.read(shared, {"shared_intermediate_size"});
  Experts& experts = model.experts;
  experts.num_experts = 8;
  keys.read(experts.num_experts, {"num_local_experts"});
  if (experts.num_experts > 0) {
    experts.num_experts_per_tok = 2;
    keys.read(experts.num_experts_per_tok, {"num_experts_per_tok"});
    experts.moe_intermediate_size = model.intermediate_size;
    experts.n_shared_experts = 1;
    experts.shared_expert_intermediate_size = shared;
  } else {
    model.intermediate_size = shared;
  }
  if (has_mamba(model)) read_mamba(model, keys, expanded_width(model, keys), issues);
}

Model lfm2() {
  Model model = of_class("lfm2", 65536, 2560, 32, 32, 8, 12288, 128000);
  model.qk_norm = QkNorm::per_head;
  model.tie_word_embeddings = true;
  return model;
}

// models/lfm2/modeling_lfm2.py, Lfm2MLP: the width of the MLP follows from intermediate_size, which the original
// configurations call block_ff_dim.
void read_lfm2(Model& model, const Keys& keys, Issues&) {
  model.attention_dropout = 0;  // the class has none
  keys.read(model.tie_word_embeddings, {"tie_embedding"});
  keys.read(model.conv_kernel_size, {"conv_L_cache"});
  keys.read(model.conv_bias, {"conv_bias"});
  keys.read(model.intermediate_size, {"block_ff_dim"});
  if (!keys.flag("block_auto_adjust_ff_dim", true)) return;
  std::int64_t width = 2 * model.intermediate_size / 3;
  double multiplier = 1;
  std::int64_t multiple = 256;
  keys.read(multiplier, {"block_ffn_dim_multiplier"});
  keys.read(multiple, {"block_multiple_of"});
  width = static_cast<std::int64_t>(multiplier * static_cast<double>(width));
  if (multiple > 0 && !keys.is_null("block_ffn_dim_multiplier")) width = (width + multiple - 1) / multiple * multiple;
  model.intermediate_size = width;
}

Model lfm2_moe() {
  Model model = of_class("lfm2_moe", 65536, 2048, 32, 32, 8, 7168, 128000);
  model.qk_norm = QkNorm::per_head;
  model.tie_word_embeddings = true;
  model.experts.num_experts = 32;
  model.experts.num_experts_per_tok = 4;
  model.experts.moe_intermediate_size = 1792;
  model.experts.first_k_dense_replace = 2;
  model.experts.router_bias = true;
  return model;
}

// models/lfm2_moe/configuration_lfm2_moe.py.
void read_lfm2_moe(Model& model, const Keys& keys, Issues& issues) {
  model.attention_dropout = 0;  // the class has none
  keys.read(model.tie_word_embeddings, {"tie_embedding"});
  keys.read(model.conv_kernel_size, {"conv_L_cache"});
  keys.read(model.conv_bias, {"conv_bias"});
  keys.read(model.experts.first_k_dense_replace, {"num_dense_layers"});
  if (!keys.flag("use_expert_bias", true))
    report_not_modelled_key(issues, "use_expert_bias", "A router of this class without correction is not modelled.");
  if (!keys.flag("norm_topk_prob", true))
    report_not_modelled_key(issues, "norm_topk_prob", "Weights of experts that do not add up are not modelled.");
}

Model nemotron_h() {
  Model model = of_class("nemotron_h", 131072, 4096, 4, 32, 8, 21504, 4096);
  model.head_dim = 128;
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  model.norms_per_layer = 1;
  model.positions = Positions::none;
  model.layer_types = "mamba,moe,full_attention,mlp";
  model.mamba = {.n_heads = 128, .d_head = 64, .n_groups = 8, .d_state = 128, .d_conv = 4, .chunk_size = 128};
  model.experts.num_experts = 8;
  model.experts.num_experts_per_tok = 2;
  model.experts.moe_intermediate_size = 7688;
  model.experts.n_shared_experts = 1;
  model.experts.shared_expert_intermediate_size = 7688;
  model.experts.router_bias = true;
  return model;
}

// models/nemotron_h/configuration_nemotron_h.py: the list says how many layers there are.
void read_nemotron_h(Model& model, const Keys& keys, Issues&) {
  const std::string list = keys.find({"layers_block_type.0"}) != nullptr ? "layers_block_type." : "layer_types.";
  std::int64_t layers = 0;
  while (keys.find({list + std::to_string(layers)}) != nullptr) ++layers;
  const auto* letters = keys.find({"hybrid_override_pattern"});
  if (layers > 0) {
    model.num_hidden_layers = layers;
    read_layer_types(model, keys);
    name_mamba(model);
  } else if (letters != nullptr && !letters->text.empty() && letters->text.size() <= 1024) {
    model.num_hidden_layers = static_cast<std::int64_t>(letters->text.size());
    model.layer_types = pattern_of_letters(letters->text);
  } else {
    model.layer_types = "mamba,moe,full_attention,mlp";
    model.num_hidden_layers = 4;
  }
  model.num_nextn_predict_layers = 0;  // the class builds no layers of multi-token prediction
  model.attention_bias = model.attention_output_bias = model.tie_word_embeddings = false;
  Mamba& mamba = model.mamba;
  keys.read(mamba.n_heads, {"mamba_num_heads"});
  keys.read(mamba.d_head, {"mamba_head_dim"});
  keys.read(mamba.n_groups, {"mamba_n_groups", "n_groups"});
  keys.read(mamba.d_state, {"ssm_state_size"});
  keys.read(mamba.d_conv, {"mamba_d_conv", "conv_kernel"});
  keys.read(mamba.chunk_size, {"mamba_chunk_size", "chunk_size"});
  keys.read(mamba.conv_bias, {"mamba_conv_bias", "use_conv_bias"});
  keys.read(mamba.proj_bias, {"use_bias"});
  if (!has_layer_type(model, LayerType::moe)) {
    model.experts = {};
    return;
  }
  Experts& experts = model.experts;
  experts.n_shared_experts = 1;  // one MLP, whose width is given
  keys.read(experts.shared_expert_intermediate_size, {"moe_shared_expert_intermediate_size"});
  keys.read(experts.moe_latent_size, {"moe_latent_size"});
}

Model falcon_h1() {
  Model model = of_class("falcon_h1", 128000, 4096, 32, 32, 8, 14336, 8192);
  model.layer_types = "hybrid";
  model.mamba.gated_norm = false;
  return model;
}

// models/falcon_h1/configuration_falcon_h1.py.
void read_falcon_h1(Model& model, const Keys& keys, Issues& issues) {
  model.layer_types = word(LayerType::hybrid);
  std::int64_t width = 1024;
  keys.read(width, {"mamba_d_ssm"});
  if (keys.is_null("mamba_d_ssm")) width = expanded_width(model, keys);
  read_mamba(model, keys, width, issues);
  model.mamba.gated_norm = keys.flag("mamba_rms_norm", false);
  if (keys.flag("projectors_bias", false) != model.mamba.proj_bias)
    report_not_modelled_key(issues, "projectors_bias", "A bias of one of Mamba's two projections is not modelled.");
}

Model bamba() {
  Model model = of_class("bamba", 128000, 4096, 32, 32, 8, 14336, 262144);
  model.layer_types = "mamba";
  model.partial_rotary_factor = 0.5;
  return model;
}

// models/bamba/configuration_bamba.py: half of a head turns whatever the configuration says.
void read_bamba(Model& model, const Keys& keys, Issues& issues) {
  name_mamba(model);
  model.partial_rotary_factor = 0.5;
  if (has_mamba(model)) read_mamba(model, keys, expanded_width(model, keys), issues);
  double z_loss = 0;
  keys.read(z_loss, {"z_loss_coefficient"});
  if (z_loss > 0) report_not_modelled_key(issues, "z_loss_coefficient", "The z-loss of this class is not modelled.");
}

Model olmo_hybrid() {
  Model model = of_class("olmo_hybrid", 100352, 3840, 32, 30, 0, 11008, 65536);
  model.norm_placement = NormPlacement::post;
  model.qk_norm = QkNorm::full;
  model.layer_types = "3*linear_attention,full_attention";
  model.linear_attention = {30, 30, 96, 192, 4};
  return model;
}

// models/olmo_hybrid/configuration_olmo_hybrid.py: what is not given follows from the heads of attention. The released
// models have no RoPE, which they say by a base of null; with no base given there is one.
void read_clip_qkv_hybrid(Model& model, const Keys& keys, Issues& issues) {
  const std::int64_t layers = model.num_hidden_layers;
  if (keys.find({"layer_types.0"}) == nullptr && layers < 4)
    model.layer_types = layer_types_text([&] {
      std::vector<LayerType> pattern(static_cast<std::size_t>(layers), LayerType::linear_attention);
      if (!pattern.empty()) pattern.back() = LayerType::full_attention;
      return pattern;
    }());
  if (keys.is_null("rope_parameters.rope_theta")) model.positions = Positions::none;
  LinearAttention& linear = model.linear_attention;
  linear.linear_num_key_heads = linear.linear_num_value_heads = model.num_attention_heads;
  keys.read(linear.linear_num_key_heads, {"linear_num_key_heads"});
  keys.read(linear.linear_num_value_heads, {"linear_num_value_heads"});
  if (linear.linear_num_key_heads > 0)
    linear.linear_key_head_dim = 3 * model.hidden_size / 4 / linear.linear_num_key_heads;
  keys.read(linear.linear_key_head_dim, {"linear_key_head_dim"});
  linear.linear_value_head_dim = 2 * linear.linear_key_head_dim;
  keys.read(linear.linear_value_head_dim, {"linear_value_head_dim"});
  if (!keys.flag("linear_allow_neg_eigval", true))
    report_not_modelled_key(issues, "linear_allow_neg_eigval", "Betas between 0 and 1 of this class are not modelled.");
}

Model qwen3_next() {
  Model model = of_class("qwen3_next", 151936, 2048, 48, 16, 2, 5632, 32768);
  gated_delta_net(model);
  model.experts = {512, 10, 512, 1, 512, true};
  return model;
}

Model qwen3_5() {
  Model model = of_class("qwen3_5_text", 248320, 4096, 32, 16, 4, 12288, 32768);
  gated_delta_net(model);
  return model;
}

Model qwen3_5_moe() {
  Model model = of_class("qwen3_5_moe_text", 248320, 2048, 40, 16, 2, 0, 32768);
  gated_delta_net(model);
  model.experts = {256, 8, 512, 1, 512, true};
  return model;
}

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {
    {granitemoehybrid(), all, read_granite_hybrid},
    {lfm2(), none, read_lfm2},
    {lfm2_moe(), none, read_lfm2_moe},
    {nemotron_h(), queries_keys_values, read_nemotron_h},
    {falcon_h1(), all, read_falcon_h1},
    {bamba(), all, read_bamba},
    {olmo_hybrid(), all, read_clip_qkv_hybrid},
    {qwen3_next(), all, read_mlp_only_layers},
    {qwen3_5(), all},
    {qwen3_5_moe(), all},
};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_hybrid() { return classes; }

}  // namespace trainmem
