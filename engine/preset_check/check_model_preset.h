// A model's preset: its parameters recomputed from tensors and held against the published count.
#pragma once

#include <string>

#include "engine/preset_check/checked_preset.h"

namespace trainmem {

/// Models by what their makers have published.
struct ModelTotals {
  int exact = 0;      ///< a count, and it is the tensors' sum
  int explained = 0;  ///< a count, and the preset explains the difference in parts
  int rounded = 0;    ///< no count: "about 7 billion"
};

/// Adds the model to the totals and a line to the table.
void check_model_preset(const CheckedPreset& preset, ModelTotals& totals, std::string& table);

}  // namespace trainmem
