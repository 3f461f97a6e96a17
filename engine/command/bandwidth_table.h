// The bandwidth part of an answer as a text table.
#pragma once

#include <string>

#include "engine/result.h"

namespace trainmem {

/// Empty if no bandwidth of the GPU is known.
std::string bandwidth_table(const Bandwidth& step);

}  // namespace trainmem
