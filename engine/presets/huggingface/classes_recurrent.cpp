// The configuration classes whose tokens pass through recurrences other than Mamba alone.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.16.
#include <string>
#include <utility>
#include <vector>

#include "engine/config/layer_types.h"
#include "engine/presets/huggingface/class_parts.h"
#include "engine/presets/huggingface/classes.h"
#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

/// It attends to nothing: one head stands for those of attention.
Model rwkv() {
  Model model = of_class("rwkv", 50277, 4096, 32, 1, 1, 0, 1024);
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.hidden_act = Activation::relu2;
  model.gated_mlp = false;
  model.positions = Positions::none;
  model.layer_types = word(LayerType::linear_attention);
  return model;
}

void read_rwkv(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.max_position_embeddings, {"context_length"});
  model.layer_types = word(LayerType::linear_attention);
  std::int64_t width = model.hidden_size;
  keys.read(width, {"attention_hidden_size"});
  if (width != model.hidden_size)
    report_not_modelled_key(issues, "attention_hidden_size",
                            "Attention of another width than hidden_size is not modelled.");
}

Model recurrent_gemma() {
  Model model = of_class("recurrent_gemma", 256000, 2560, 26, 10, 0, 7680, 8192);
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.tie_word_embeddings = true;
  model.attention_output_bias = model.mlp_bias = true;
  model.conv_kernel_size = 4;
  model.sliding_window = 2048;
  model.final_logit_softcapping = 30.0;
  model.layer_types = "2*linear_attention,sliding_attention";
  return model;
}

// models/recurrent_gemma/configuration_recurrent_gemma.py: block_types take turns; the MLP is half as wide as the
// configuration says, and RoPE turns whole heads.
void read_recurrent_gemma(Model& model, const Keys& keys, Issues& issues) {
  std::vector<LayerType> turn;
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    const auto* kind = keys.find({"block_types." + std::to_string(i)});
    if (kind == nullptr) break;
    turn.push_back(kind->text == "attention" ? LayerType::sliding_attention : LayerType::linear_attention);
  }
  if (!turn.empty()) model.layer_types = layer_types_text(std::move(turn));
  keys.read(model.sliding_window, {"attention_window_size"});
  keys.read(model.conv_kernel_size, {"conv1d_width"});
  keys.read(model.final_logit_softcapping, {"logits_soft_cap"});
  model.intermediate_size = model.intermediate_size / 2;
  model.attention_output_bias = true;
  model.partial_rotary_factor = 1.0;
  std::int64_t width = model.hidden_size;
  keys.read(width, {"lru_width"});
  if (width != model.hidden_size)
    report_not_modelled_key(issues, "lru_width", "Recurrences of another width than hidden_size are not modelled.");
}

Model zamba2() {
  Model model = of_class("zamba2", 32000, 2560, 54, 32, 0, 0, 4096);
  model.head_dim = 160;
  model.hidden_act = Activation::gelu;
  model.positions = Positions::none;
  model.tie_word_embeddings = true;
  model.num_mem_blocks = 1;
  model.adapter_rank = 128;
  model.layer_types = "mamba,7*(5*mamba,hybrid),4*mamba,hybrid,3*mamba,hybrid,2*mamba";
  model.mamba = {.n_heads = 8, .d_head = 640, .d_state = 64};
  return model;
}

/// Its layers: a list of words, or the numbers of those that run a shared block before they do Mamba.
void read_zamba2_layers(Model& model, const Keys& keys, Issues& issues) {
  const std::int64_t layers = model.num_hidden_layers;
  std::vector<LayerType> kinds(static_cast<std::size_t>(layers), LayerType::mamba);
  const bool words = keys.find({"layers_block_type.0"}) != nullptr || keys.find({"layer_types.0"}) != nullptr;
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string place = "." + std::to_string(i);
    const auto* word_of_layer = keys.find({"layers_block_type" + place, "layer_types" + place});
    if (word_of_layer != nullptr && word_of_layer->text == "hybrid")
      kinds[static_cast<std::size_t>(i)] = LayerType::hybrid;
    std::int64_t numbered = -1;
    keys.read(numbered, {"hybrid_layer_ids" + place});
    if (!words && numbered >= 0 && numbered < layers) kinds[static_cast<std::size_t>(numbered)] = LayerType::hybrid;
  }
  if (!words && keys.find({"hybrid_layer_ids.0"}) == nullptr) {
    if (layers != 54)
      report_not_modelled_key(issues, "layers_block_type",
                              "Layers of this class whose kinds are not listed are not modelled.");
    return;
  }
  model.layer_types = layer_types_text(std::move(kinds));
}

// models/zamba2/configuration_zamba2.py: Mamba's heads make up its inner width, attention is twice as wide as the
// model.
void read_zamba2(Model& model, const Keys& keys, Issues& issues) {
  const std::int64_t h = model.hidden_size;
  read_zamba2_layers(model, keys, issues);
  model.attention_bias = model.attention_output_bias = false;
  if (model.num_attention_heads > 0) model.head_dim = 2 * h / model.num_attention_heads;
  keys.read(model.num_mem_blocks, {"num_mem_blocks"});
  keys.read(model.adapter_rank, {"adapter_rank"});
  keys.read(model.use_shared_attention_adapter, {"use_shared_attention_adapter"});
  keys.read(model.mlp_bias, {"add_bias_linear"});
  model.positions = keys.flag("use_mem_rope", false) ? Positions::rope : Positions::none;
  Mamba& mamba = model.mamba;
  keys.read(mamba.n_heads, {"n_mamba_heads"});
  keys.read(mamba.d_state, {"mamba_d_state"});
  keys.read(mamba.n_groups, {"mamba_ngroups"});
  keys.read(mamba.d_conv, {"mamba_d_conv"});
  keys.read(mamba.chunk_size, {"chunk_size"});
  mamba.proj_bias = model.mlp_bias;
  std::int64_t expand = 2;
  keys.read(expand, {"mamba_expand"});
  if (mamba.n_heads > 0) mamba.d_head = expand * h / mamba.n_heads;
}

using enum HuggingFaceClass::AttentionBias;

const HuggingFaceClass classes[] = {
    {rwkv(), none, read_rwkv},
    {recurrent_gemma(), queries_keys_values, read_recurrent_gemma},
    {zamba2(), none, read_zamba2},
};

}  // namespace

std::span<const HuggingFaceClass> huggingface_classes_recurrent() { return classes; }

}  // namespace trainmem
