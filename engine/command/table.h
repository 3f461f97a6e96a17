// An answer as text for a terminal of 100 columns.
#pragma once

#include <string>

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

std::string result_table(const Config& config, const Result& result);

}  // namespace trainmem
