// What an answer leaves out or rests on, in sentences for the reader.
#pragma once

#include <string>
#include <vector>

#include "engine/config.h"

namespace trainmem {

std::vector<std::string> not_counted(const Config& config);

}  // namespace trainmem
