// Which layers are of which kind, by the lists and numbers with which configuration classes say it: layer_types,
// layers_block_type, full_attn_idxs, max_window_layers.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/config/layer_types.h"

#include <string>
#include <vector>

#include "engine/presets/huggingface/keys.h"

namespace trainmem {
namespace {

using Pattern = std::vector<LayerType>;

/// A list of words; empty where there is none, or one with words of another meaning (Llama 4's chunked_attention).
Pattern listed(const HuggingFaceKeys& keys, const std::string& key, std::int64_t layers) {
  Pattern pattern;
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto* value = keys.find({key + "." + std::to_string(i)});
    LayerType type{};
    if (value == nullptr || !find_layer_type(value->text, type)) return {};
    pattern.push_back(type);
  }
  return pattern;
}

/// All layers of `otherwise`, but for those that a list of numbers has.
Pattern numbered(const HuggingFaceKeys& keys, const std::string& key, std::int64_t layers, LayerType otherwise) {
  if (keys.find({key + ".0"}) == nullptr) return {};
  Pattern pattern(static_cast<std::size_t>(layers), otherwise);
  for (std::int64_t i = 0; i < layers; ++i) {
    std::int64_t layer = -1;
    keys.read(layer, {key + "." + std::to_string(i)});
    if (layer >= 0 && layer < layers) pattern[static_cast<std::size_t>(layer)] = LayerType::full_attention;
  }
  return pattern;
}

/// Cut where it begins again, the last time perhaps not to its end.
Pattern one_period(const Pattern& pattern) {
  for (std::size_t period = 1; 2 * period <= pattern.size(); ++period) {
    std::size_t same = period;
    while (same < pattern.size() && pattern[same] == pattern[same - period]) ++same;
    if (same == pattern.size()) return Pattern(pattern.begin(), pattern.begin() + static_cast<std::ptrdiff_t>(period));
  }
  return pattern;
}

/// Of layers that attend: the window and its period, where these can say it.
bool is_said_by_window(Model& model, const Pattern& pattern) {
  std::int64_t first_full = 0;
  std::int64_t full = 0;
  const auto layers = static_cast<std::int64_t>(pattern.size());
  for (std::int64_t i = 0; i < layers; ++i) {
    if (pattern[static_cast<std::size_t>(i)] != LayerType::full_attention) continue;
    if (++full == 1) first_full = i;
  }
  if (full == layers) {
    model.sliding_window = 0;
    return true;
  }
  Model regular;
  regular.sliding_window = 1;
  regular.sliding_window_pattern = full == 0 ? 1 : first_full + 1;
  for (std::int64_t i = 0; i < layers; ++i) {
    if (layer_type(regular, i) != pattern[static_cast<std::size_t>(i)]) return false;
  }
  // With every layer sliding a longer period, of which no layer comes to the end, says the same.
  if (full > 0 || model.sliding_window_pattern <= layers) model.sliding_window_pattern = regular.sliding_window_pattern;
  return true;
}

bool only_attends(const Pattern& pattern) {
  for (const LayerType type : pattern)
    if (type != LayerType::full_attention && type != LayerType::sliding_attention) return false;
  return true;
}

}  // namespace

void read_layer_types(Model& model, const HuggingFaceKeys& keys) {
  const std::int64_t layers = model.num_hidden_layers;
  Pattern pattern = listed(keys, "layer_types", layers);
  if (pattern.empty()) pattern = listed(keys, "layers_block_type", layers);
  if (pattern.empty()) pattern = numbered(keys, "full_attn_idxs", layers, LayerType::conv);
  if (pattern.empty()) pattern = numbered(keys, "attn_layer_indices", layers, LayerType::mamba);
  std::int64_t interval = 0;
  keys.read(interval, {"full_attention_interval"});
  if (pattern.empty() && interval > 0 && interval <= layers && has_layer_type(model, LayerType::linear_attention)) {
    pattern.assign(static_cast<std::size_t>(interval), LayerType::linear_attention);
    pattern.back() = LayerType::full_attention;
  }
  if (pattern.empty()) return;
  if (only_attends(pattern) && model.sliding_window > 0 && is_said_by_window(model, pattern)) {
    model.layer_types.clear();
    return;
  }
  pattern = one_period(pattern);
  const bool attends = pattern.size() == 1 && pattern[0] == LayerType::full_attention;
  model.layer_types = attends ? "" : layer_types_text(pattern);
  model.sliding_window_pattern = 1;
}

void read_mlp_layer_types(Model& model, const HuggingFaceKeys& keys, Issues& issues) {
  if (model.experts.num_experts == 0 || keys.find({"mlp_layer_types.0"}) == nullptr) return;
  std::int64_t dense = 0;
  bool experts_began = false;
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) {
    const auto* kind = keys.find({"mlp_layer_types." + std::to_string(i)});
    if (kind != nullptr && kind->text == "sparse") {
      experts_began = true;
      continue;
    }
    if (experts_began)
      return report_not_modelled_key(issues, "mlp_layer_types",
                                     "Dense layers after layers with experts are not modelled.");
    ++dense;
  }
  model.experts.first_k_dense_replace = dense;
}

}  // namespace trainmem
