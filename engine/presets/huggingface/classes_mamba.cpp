// The configuration classes of pure state-space models, Mamba 1 and 2, and Jamba's, which has layers of the first.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/config/layer_types.h"
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

/// What the classes of pure state-space models can say and no forward does.
void read_mamba_switches(const Model& model, const Keys& keys, Issues& issues) {
  if (!keys.flag("residual_in_fp32", true))
    report_not_modelled_key(issues, "residual_in_fp32", "Residuals of this class in 16 bits are not modelled.");
  if (model.hidden_act != Activation::silu)
    report_not_modelled_key(issues, "hidden_act", "Another activation of this class than SiLU is not modelled.");
}

Model mamba2() {
  Model model = of_class("mamba2", 32768, 4096, 64, 128, 128, 8192, 0);
  model.head_dim = 64;
  model.norms_per_layer = 1;
  model.positions = Positions::none;
  model.layer_types = word(LayerType::mamba);
  model.mamba = {.n_heads = 128, .d_head = 64, .n_groups = 8, .d_state = 128};
  return model;
}

// models/mamba2/configuration_mamba2.py. Heads and inner width are those of its mixers.
void read_mamba2(Model& model, const Keys& keys, Issues& issues) {
  Mamba& mamba = model.mamba;
  mamba.n_heads = model.num_key_value_heads = model.num_attention_heads;
  mamba.d_head = model.head_dim;
  keys.read(mamba.n_groups, {"n_groups"});
  keys.read(mamba.d_state, {"state_size"});
  keys.read(mamba.d_conv, {"conv_kernel"});
  keys.read(mamba.chunk_size, {"chunk_size"});
  keys.read(mamba.conv_bias, {"use_conv_bias"});
  keys.read(mamba.proj_bias, {"use_bias"});
  std::int64_t expand = 2;
  keys.read(expand, {"expand"});
  model.intermediate_size = mamba.n_heads * mamba.d_head;
  if (expand * model.hidden_size != model.intermediate_size)
    report_not_modelled_key(issues, "num_heads", "The class refuses heads that do not make up the inner width.");
  read_mamba_switches(model, keys, issues);
}

/// Mamba 1 attends to nothing: one head stands for those of attention.
Model mamba(const char* model_type) {
  Model model = of_class(model_type, 50280, 768, 32, 1, 1, 0, 0);
  model.norms_per_layer = 1;
  model.tie_word_embeddings = true;
  model.positions = Positions::none;
  model.layer_types = word(LayerType::mamba);
  model.mamba = {.n_heads = 1536, .d_head = 1, .d_state = 16, .time_step_rank = 48};
  return model;
}

/// The rank of the time steps, which "auto" leaves to the width.
std::int64_t time_step_rank(const Model& model, const Keys& keys, const char* key) {
  std::int64_t rank = (model.hidden_size + 15) / 16;
  keys.read(rank, {key});
  return rank;
}

// models/{mamba,falcon_mamba}/configuration_*.py: an inner width that is given stands above the one that follows.
void read_mamba1(Model& model, const Keys& keys, Issues& issues) {
  Mamba& mamba = model.mamba;
  std::int64_t expand = 2;
  keys.read(expand, {"expand"});
  if (model.intermediate_size == 0) model.intermediate_size = expand * model.hidden_size;
  mamba.n_heads = model.intermediate_size;
  mamba.time_step_rank = time_step_rank(model, keys, "time_step_rank");
  keys.read(mamba.d_state, {"state_size"});
  keys.read(mamba.d_conv, {"conv_kernel"});
  keys.read(mamba.conv_bias, {"use_conv_bias"});
  keys.read(mamba.proj_bias, {"use_bias"});
  read_mamba_switches(model, keys, issues);
}

Model jamba() {
  Model model = of_class("jamba", 65536, 4096, 32, 32, 8, 14336, 262144);
  model.positions = Positions::none;
  model.layer_types = word(LayerType::mamba);
  model.mamba = {.n_heads = 8192, .d_head = 1, .d_state = 16, .time_step_rank = 256};
  model.experts.num_experts = 16;
  model.experts.num_experts_per_tok = 2;
  return model;
}

// models/jamba/configuration_jamba.py: kinds of layers by period and offset.
void read_jamba(Model& model, const Keys& keys, Issues& issues) {
  std::int64_t period = 8, offset = 4;
  keys.read(period, {"attn_layer_period"});
  keys.read(offset, {"attn_layer_offset"});
  std::vector<LayerType> pattern;
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i)
    pattern.push_back(period > 0 && i % period == offset ? LayerType::full_attention : LayerType::mamba);
  model.layer_types = layer_types_text(std::move(pattern));
  Experts& experts = model.experts;
  experts.moe_layer_freq = 2;
  std::int64_t first = 1;
  keys.read(experts.moe_layer_freq, {"expert_layer_period"});
  keys.read(first, {"expert_layer_offset"});
  if (experts.num_experts <= 1)
    experts = {};
  else if (first + 1 != experts.moe_layer_freq)
    report_not_modelled_key(issues, "expert_layer_offset",
                            "Experts elsewhere than in the last layer of each turn are not modelled.");
  Mamba& mamba = model.mamba;
  std::int64_t expand = 2;
  keys.read(expand, {"mamba_expand"});
  mamba.n_heads = expand * model.hidden_size;
  mamba.time_step_rank = time_step_rank(model, keys, "mamba_dt_rank");
  keys.read(mamba.d_state, {"mamba_d_state"});
  keys.read(mamba.d_conv, {"mamba_d_conv"});
  keys.read(mamba.conv_bias, {"mamba_conv_bias"});
  keys.read(mamba.proj_bias, {"mamba_proj_bias"});
}

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {
    {mamba("mamba"), none, read_mamba1},
    {mamba("falcon_mamba"), none, read_mamba1},
    {mamba2(), none, read_mamba2},
    {jamba(), none, read_jamba},
};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_mamba() { return classes; }

}  // namespace trainmem
