// The number format of LoRA's weights.
#pragma once

#include "engine/config.h"

namespace trainmem {

/// What the recipe asks for, or what the framework makes of it.
DType adapter_format(const Recipe& recipe);

}  // namespace trainmem
