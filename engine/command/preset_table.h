// The list of presets for a terminal.
#pragma once

#include <string>

namespace trainmem {

/// "models", "gpus", "recipes", or empty for all three; an empty answer: there is no such kind.
std::string preset_table(const std::string& kind);

}  // namespace trainmem
