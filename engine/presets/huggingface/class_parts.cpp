#include "engine/presets/huggingface/class_parts.h"

#include <algorithm>
#include <string>
#include <vector>

namespace trainmem {

void sizes(Model& model, std::int64_t vocab_size, std::int64_t hidden_size, std::int64_t layers, std::int64_t heads,
           std::int64_t key_value_heads, std::int64_t intermediate_size, std::int64_t positions) {
  model.vocab_size = vocab_size;
  model.hidden_size = hidden_size;
  model.num_hidden_layers = layers;
  model.num_attention_heads = heads;
  model.num_key_value_heads = key_value_heads;
  model.intermediate_size = intermediate_size;
  model.max_position_embeddings = positions;
}

Model of_class(const char* model_type, std::int64_t vocab_size, std::int64_t hidden_size, std::int64_t layers,
               std::int64_t heads, std::int64_t key_value_heads, std::int64_t intermediate_size,
               std::int64_t positions) {
  Model model;
  model.model_type = model_type;
  sizes(model, vocab_size, hidden_size, layers, heads, key_value_heads, intermediate_size, positions);
  return model;
}

void set_all_biases(Model& model, bool bias) {
  model.attention_bias = model.attention_output_bias = model.mlp_bias = bias;
}

void read_rope_where_sliding(Model& model, const HuggingFaceKeys&, Issues&) {
  model.nope_every = model.sliding_window > 0 ? model.sliding_window_pattern : 0;
}

void read_clip_qkv(Model& model, const HuggingFaceKeys& keys, Issues&) { keys.read(model.clip_qkv, {"clip_qkv"}); }

void read_jitter(Model&, const HuggingFaceKeys& keys, Issues& issues) {
  double noise = 0;
  keys.read(noise, {"router_jitter_noise"});
  if (noise > 0)
    report_not_modelled_key(issues, "router_jitter_noise", "Jitter of this class's experts is not modelled.");
}

void read_mlp_only_layers(Model& model, const HuggingFaceKeys& keys, Issues& issues) {
  const std::int64_t layers = model.num_hidden_layers;
  const std::int64_t distance = std::max(model.experts.moe_layer_freq, std::int64_t{1});
  std::vector<bool> dense(static_cast<std::size_t>(layers));
  for (std::int64_t i = 0; i < layers; ++i) {
    std::int64_t layer = -1;
    keys.read(layer, {"mlp_only_layers." + std::to_string(i)});
    if (layer >= 0 && layer < layers) dense[static_cast<std::size_t>(layer)] = true;
  }
  std::int64_t leading = 0;
  for (std::int64_t i = 0; i < layers; ++i) {
    if ((i + 1) % distance != 0 || !dense[static_cast<std::size_t>(i)]) continue;
    if ((i + 1) / distance != leading / distance + 1)
      return report_not_modelled_key(issues, "mlp_only_layers",
                                     "Layers without experts among others are not modelled.");
    leading = i + 1;
  }
  model.experts.first_k_dense_replace = leading;
}

// models/{smollm3,llama4}/configuration_*.py: 1 for a layer with RoPE; an empty list is none.
void read_no_rope_layers(Model& model, const HuggingFaceKeys& keys, Issues& issues) {
  if (keys.find({"no_rope_layers.0"}) == nullptr) return;
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    const bool turns = model.nope_every == 0 || (i + 1) % model.nope_every != 0;
    if (keys.flag("no_rope_layers." + std::to_string(i), turns) != turns)
      return report_not_modelled_key(issues, "no_rope_layers",
                                     "Layers without RoPE at other distances than equal ones are not modelled.");
  }
}

void read_qk_layernorm(Model&, const HuggingFaceKeys& keys, Issues& issues) {
  if (keys.flag("qk_layernorm", false))
    report_not_modelled_key(issues, "qk_layernorm", "Normalised queries and keys of this class are not modelled.");
}

}  // namespace trainmem
