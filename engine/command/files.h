// What the command reads: configurations from files, links or standard input; the files of presets/.
#pragma once

#include <string>
#include <vector>

#include "engine/command/arguments.h"
#include "engine/issue.h"
#include "engine/preset_check/validate_presets.h"

namespace trainmem {

struct Input {
  std::string text;  ///< JSON or a link
  Issues issues;
};

Input read_input(const Arguments& arguments);

/// All presets below a folder, sorted; none if it is not a folder of presets.
std::vector<PresetFile> preset_files(const std::string& folder);

}  // namespace trainmem
