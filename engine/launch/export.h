// Take away: a configuration as the settings of a framework.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/launch/format.h"

namespace trainmem {

struct Export {
  const SettingsFormat* format = nullptr;
  std::string text;
  /// Fields that this format has no words for; found by reading the text back.
  std::vector<std::string> not_said;
};

Export export_settings(const SettingsFormat& format, const Config& config);

/// "megatron", "torchtitan", "deepspeed" or "accelerate"; null for any other word.
const SettingsFormat* find_format(std::string_view name);

/// All formats in the order in which they are offered; the configuration's own framework comes first.
std::vector<const SettingsFormat*> formats_for(const Config& config);

/// {"ok": true, "settings": [{"format", "title", "file", "text", "not_said": [paths]}]}.
std::string write_exports(const Config& config);

}  // namespace trainmem
