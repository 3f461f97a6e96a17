// Answers as text for a terminal of 100 columns.
#pragma once

#include <string>

#include "engine/config.h"
#include "engine/issue.h"
#include "engine/result.h"

namespace trainmem {

std::string result_table(const Config& config, const Result& result);

/// "models", "gpus", "recipes", or empty for all three; an empty answer: there is no such kind.
std::string preset_table(const std::string& kind);

/// "/recipe/tensor_parallel: sentence hint", with a line break.
std::string issue_line(const Issue& issue);

}  // namespace trainmem
