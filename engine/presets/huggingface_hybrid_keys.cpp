// What the classes do otherwise whose layers are of several kinds: convolutions, Mamba, linear attention.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/config/layer_types.h"
#include "engine/presets/huggingface_keys.h"

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

// models/lfm2/modeling_lfm2.py, Lfm2MLP: the width of the MLP follows from intermediate_size, which the original
// configurations call block_ff_dim.
void read_lfm2(Model& model, const Keys& keys, Issues&) {
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

// models/lfm2_moe/configuration_lfm2_moe.py.
void read_lfm2_moe(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.tie_word_embeddings, {"tie_embedding"});
  keys.read(model.conv_kernel_size, {"conv_L_cache"});
  keys.read(model.conv_bias, {"conv_bias"});
  keys.read(model.experts.first_k_dense_replace, {"num_dense_layers"});
  if (!keys.flag("use_expert_bias", true))
    report_not_modelled_key(issues, "use_expert_bias", "A router of this class without correction is not modelled.");
  if (!keys.flag("norm_topk_prob", true))
    report_not_modelled_key(issues, "norm_topk_prob", "Weights of experts that do not add up are not modelled.");
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

// models/bamba/configuration_bamba.py: half of a head turns whatever the configuration says.
void read_bamba(Model& model, const Keys& keys, Issues& issues) {
  name_mamba(model);
  model.partial_rotary_factor = 0.5;
  if (has_mamba(model)) read_mamba(model, keys, expanded_width(model, keys), issues);
  double z_loss = 0;
  keys.read(z_loss, {"z_loss_coefficient"});
  if (z_loss > 0) report_not_modelled_key(issues, "z_loss_coefficient", "The z-loss of this class is not modelled.");
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

// models/olmo_hybrid/configuration_olmo_hybrid.py: what is not given follows from the heads of attention. The released
// models have no RoPE, which they say by a base of null; with no base given there is one.
void read_olmo_hybrid(Model& model, const Keys& keys, Issues& issues) {
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

struct ClassReader {
  std::string_view model_type;
  void (*read)(Model&, const Keys&, Issues&);
};

constexpr ClassReader readers[] = {
    {"lfm2", read_lfm2},
    {"lfm2_moe", read_lfm2_moe},
    {"granitemoehybrid", read_granite_hybrid},
    {"bamba", read_bamba},
    {"falcon_h1", read_falcon_h1},
    {"nemotron_h", read_nemotron_h},
    {"olmo_hybrid", read_olmo_hybrid},
};

}  // namespace

void read_hybrid_class_keys(Model& model, const HuggingFaceKeys& keys, Issues& issues) {
  for (const ClassReader& reader : readers)
    if (model.model_type == reader.model_type) return reader.read(model, keys, issues);
}

}  // namespace trainmem
