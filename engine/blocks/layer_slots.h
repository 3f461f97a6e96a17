// Which layers of a model run, and for how many equal ones each stands.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/config.h"

namespace trainmem {

/// A layer, alone or of a group of layers that stands for `times` equal groups in a row.
struct LayerSlot {
  std::int32_t index = 0;
  Size times = 1;
  std::int32_t group = 0;  ///< index of the group's first layer
  std::int32_t kind = 0;   ///< index of a layer of the same kind, the same however many layers there are
};

/// The layers of a model: all of them, or with equal ones in a row taken together. Layers of several kinds, which
/// take turns, are taken together by turns; recomputed and other layers are of two kinds.
std::vector<LayerSlot> layer_slots(const Model& model, const Recipe& recipe, bool fold);

}  // namespace trainmem
