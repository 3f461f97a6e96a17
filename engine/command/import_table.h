// What of another program's file was applied, for a terminal.
#pragma once

#include <string>

#include "engine/launch/import.h"

namespace trainmem {

/// What of a text was applied and what was not, line by line, and the link.
std::string import_table(const Import& import);

}  // namespace trainmem
