// Checks the files of presets/: what `trainmem validate-presets` does.
//
// Every parameter count is recomputed from tensors and held against the published one. A difference is allowed only
// where the preset explains it in parts whose sum is that difference.
#pragma once

#include <string>
#include <vector>

#include "engine/issue.h"

namespace trainmem {

struct PresetFile {
  std::string folder;  ///< "models", "gpus", "recipes", "optimizers", "memory_technologies"
  std::string name;    ///< "gpt2.json"
  std::string text;
};

struct PresetReport {
  std::string table;  ///< one line for each model, then one for each folder; at most 100 columns
  Issues issues;      ///< none: all presets are right. Paths begin with the file: "models/gpt2.json/parameters"
};

PresetReport validate_presets(const std::vector<PresetFile>& files);

/// JSON as files of presets/ are laid out: two spaces of indentation, one key or item a line. Empty for bad JSON.
std::string preset_layout(const std::string& json);

}  // namespace trainmem
