// Everything that is wrong with a configuration, all at once.
#pragma once

#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

/// Ranges, sizes that do not divide, contradictions, and what this version does not model.
Issues validate(const Config& config);

}  // namespace trainmem
