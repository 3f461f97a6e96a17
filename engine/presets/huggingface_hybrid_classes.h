// Part of reading a config.json: the classes whose layers are of several kinds.
#pragma once

#include <string_view>

#include "engine/presets/huggingface.h"

namespace trainmem {

/// As huggingface_defaults, for these classes; null for all others.
const Model* huggingface_hybrid_defaults(std::string_view model_type);

}  // namespace trainmem
