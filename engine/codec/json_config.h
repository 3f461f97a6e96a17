// Configurations and issues as JSON.
//
// Reading is strict: unknown and duplicate keys, wrong types, values out of range and unknown presets are all
// reported, at once. Writing is deterministic: the same configuration gives the same bytes on every machine.
#pragma once

#include <string>
#include <string_view>

#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

inline constexpr int longest_json = 16384;  ///< bytes; longer texts are refused before they are parsed

struct ReadConfig {
  Config config;  ///< everything that could be read
  Issues issues;
  bool readable = true;     ///< false: the text as a whole could not be read
  bool model_known = true;  ///< false: no model, or a preset that does not exist
};

ReadConfig read_config(std::string_view json);

/// Every field: {"model": {...}, "gpu": {...}, "recipe": {...}}.
std::string write_config(const Config& config);

/// Only presets and what differs from them, in the form that read_config reads.
std::string write_config_differences(const Config& config);

/// The first forty, and how many more there are.
std::string write_issues(const Issues& issues);

}  // namespace trainmem
