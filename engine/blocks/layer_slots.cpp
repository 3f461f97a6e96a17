#include "engine/blocks/layer_slots.h"

#include <algorithm>
#include <numeric>

#include "engine/config/layer_types.h"

namespace trainmem {

namespace {

/// After how many layers what else makes them differ comes round again: positions, experts, recomputation.
std::int64_t period_of_settings(const Model& model, const Recipe& recipe) {
  std::int64_t result = 1;
  if (model.layer_types.empty() && model.sliding_window > 0 && model.sliding_window_pattern > 1)
    result = model.sliding_window_pattern;
  if (model.nope_every > 1) result = std::lcm(result, model.nope_every);
  if (model.experts.num_experts > 0) result = std::lcm(result, std::max<std::int64_t>(model.experts.moe_layer_freq, 1));
  if (recipe.recomputation == Recomputation::every_k) result = std::lcm(result, recipe.recomputation_interval);
  return result;
}

/// After how many layers their kinds come round again.
std::int64_t period(const Model& model, const Recipe& recipe) {
  const std::int64_t settings = period_of_settings(model, recipe);
  return model.layer_types.empty() ? settings : std::lcm(settings, layer_types_period(model));
}

/// Layers at the beginning that are not of the kinds that take turns: dense ones before layers with experts, those
/// with sparse activations, or frozen ones.
std::int64_t leading_layers(const Model& model, const Recipe& recipe) {
  const bool dense = model.experts.num_experts == 0;
  const std::int64_t others = dense ? model.activation_sparsity_layers : model.experts.first_k_dense_replace;
  return minimum(std::max(others, recipe.frozen_layers), model.num_hidden_layers);
}

/// Layers in a row in which the same kinds come round again and again. The first and the last turn, or at least two
/// layers on either side, stand alone; the turns between them are one group.
struct Turns {
  Size begin;   ///< layer
  Size length;  ///< of a turn, in layers
  Size times;   ///< turns between the first and the last one

  Size edge() const { return length.recorded() == 1 ? Size(2) : length; }
};

/// All layers but the leading ones.
Turns turns_of_all(const Model& model, const Recipe& recipe) {
  Turns turns{leading_layers(model, recipe), period(model, recipe), 0};
  turns.times = (Size(model.num_hidden_layers) - turns.begin - 2 * turns.edge()) / turns.length;
  return turns;
}

/// The part of an irregular pattern of layer types that saves most layers when its turns are taken together.
Turns turns_within_pattern(const Model& model, const Recipe& recipe) {
  const std::int64_t layers = model.num_hidden_layers;
  std::vector<LayerType> types;
  for (std::int64_t i = 0; i < layers; ++i) types.push_back(layer_type(model, i));
  const auto type = [&](std::int64_t i) { return types[static_cast<std::size_t>(i)]; };
  const std::int64_t lead = leading_layers(model, recipe);
  const std::int64_t settings = period_of_settings(model, recipe);
  Turns best{0, 1, 0};
  std::int64_t most_saved = 0;
  for (std::int64_t length = settings; lead + 4 * length <= layers; length += settings) {
    std::int64_t begin = lead;
    for (std::int64_t i = lead + length; i <= layers; ++i) {
      if (i < layers && type(i) == type(i - length)) continue;
      const std::int64_t times = (i - begin - 2 * std::max<std::int64_t>(length, 2)) / length;
      if ((times - 1) * length > most_saved) {
        most_saved = (times - 1) * length;
        best = {begin, length, times};
      }
      begin = i + 1 - length;
    }
  }
  return best;
}

}  // namespace

std::vector<LayerSlot> layer_slots(const Model& model, const Recipe& recipe, bool fold) {
  // The first layers of every kind and the last ones touch what lies outside: they stand alone, and so do those beside
  // them, which show how a layer of the middle hangs together with its neighbours. What comes between is one group,
  // repeated.
  const Size layers = model.num_hidden_layers;
  std::vector<LayerSlot> slots;
  const auto add = [&](const Size& index, const Size& often, const Size& group, std::int64_t kind) {
    slots.push_back({static_cast<std::int32_t>(index.recorded()), often, static_cast<std::int32_t>(group.recorded()),
                     static_cast<std::int32_t>(kind)});
  };
  // Layers that share keys or weights hang together with one far before them, and those of whose routers a loss is made
  // with it.
  const bool hang_together = model.num_kv_shared_layers > 0 || model.num_mem_blocks > 0 ||
                             model.experts.router_auxiliary_loss != RouterAuxiliaryLoss::none;
  Turns turns = turns_of_all(model, recipe);
  const bool regular = turns.times > 1;
  if (!regular && fold && !model.layer_types.empty()) turns = turns_within_pattern(model, recipe);
  if (!fold || turns.times <= 1 || hang_together) {
    for (std::int64_t i = 0; i < layers; ++i) add(i, 1, i, i);
    return slots;
  }
  const std::int64_t length = turns.length.value();
  const std::int64_t first = (turns.begin + turns.edge()).value();
  for (std::int64_t i = 0; i < first; ++i) add(i, 1, i, i);
  for (std::int64_t i = first; i < first + length; ++i) add(i, turns.times, first, i);
  const Size last = first + turns.times * length;
  for (std::int64_t i = 0; last + i < layers; ++i)
    add(last + i, 1, last + i, regular ? first + i % length : (last + i).recorded());
  return slots;
}

}  // namespace trainmem
