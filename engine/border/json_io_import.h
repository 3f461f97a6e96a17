// What was read of another program's file, as JSON.
#pragma once

#include <string>

#include "engine/launch/import.h"

namespace trainmem {

/// {"ok", "format", "config" (only the sections that the text has), "applied", "unused", "issues"}.
std::string write_import(const Import& import);

}  // namespace trainmem
