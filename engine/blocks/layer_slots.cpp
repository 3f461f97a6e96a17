#include "engine/blocks/layer_slots.h"

#include <algorithm>
#include <numeric>

#include "engine/config/layer_types.h"

namespace trainmem {

namespace {

/// After how many layers their kinds come round again.
std::int64_t period(const Model& model, const Recipe& recipe) {
  std::int64_t result = 1;
  if (!model.layer_types.empty()) {
    result = layer_types_period(model);
  } else if (model.sliding_window > 0 && model.sliding_window_pattern > 1) {
    result = model.sliding_window_pattern;
  }
  if (model.nope_every > 1) result = std::lcm(result, model.nope_every);
  if (model.experts.num_experts > 0) result = std::lcm(result, std::max<std::int64_t>(model.experts.moe_layer_freq, 1));
  if (recipe.recomputation == Recomputation::every_k) result = std::lcm(result, recipe.recomputation_interval);
  return result;
}

/// Layers at the beginning that are not of the kinds that take turns: dense ones before layers with experts, or those
/// with sparse activations.
std::int64_t leading_layers(const Model& model) {
  if (model.experts.num_experts == 0) return minimum(model.activation_sparsity_layers, model.num_hidden_layers);
  return minimum(model.experts.first_k_dense_replace, model.num_hidden_layers);
}

}  // namespace

std::vector<LayerSlot> layer_slots(const Model& model, const Recipe& recipe, bool fold) {
  // The first layers of every kind and the last ones touch what lies outside: they stand alone, and so do those beside
  // them, which show how a layer of the middle hangs together with its neighbours. What comes between is one group,
  // repeated.
  const Size layers = model.num_hidden_layers;
  const Size length = period(model, recipe);
  const Size lead = leading_layers(model);
  const Size edge = length.recorded() == 1 ? Size(2) : length;
  const Size times = (layers - lead - 2 * edge) / length;
  std::vector<LayerSlot> slots;
  const auto add = [&](const Size& index, const Size& often, const Size& group, std::int64_t kind) {
    slots.push_back({static_cast<std::int32_t>(index.recorded()), often, static_cast<std::int32_t>(group.recorded()),
                     static_cast<std::int32_t>(kind)});
  };
  // Layers that share keys hang together with one far before them, and those of whose routers a loss is made with it.
  const bool hang_together =
      model.num_kv_shared_layers > 0 || model.experts.router_auxiliary_loss != RouterAuxiliaryLoss::none;
  if (!fold || times <= 1 || hang_together) {
    for (std::int64_t i = 0; i < layers; ++i) add(i, 1, i, i);
    return slots;
  }
  const std::int64_t first = lead + edge.value();
  for (std::int64_t i = 0; i < first; ++i) add(i, 1, i, i);
  for (std::int64_t i = first; i < first + length; ++i) add(i, times, first, i);
  const Size last = first + times * length;
  for (std::int64_t i = 0; last + i < layers; ++i) add(last + i, 1, last + i, first + i % length.value());
  return slots;
}

}  // namespace trainmem
