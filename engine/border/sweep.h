// One thing varied over many values: what charts over sequence length, micro-batch, GPUs and models are drawn from.
#pragma once

#include <string>
#include <string_view>

#include "engine/config.h"

namespace trainmem {

inline constexpr int most_sweep_points = 256;

/// `path` is a field's ("/recipe/sequence_length") or a section's ("/model", "/gpu", "/recipe"), whose values are ids
/// of presets. `values`: as links write them, divided by commas. One entry for each value, in order:
/// {"value":"8192","ok":true,"after":{...}} or {"value":"7","ok":false,"issues":[...]}. With grpo a longer
/// sequence has a longer completion.
std::string write_sweep(const Config& config, std::string_view path, std::string_view values);

}  // namespace trainmem
