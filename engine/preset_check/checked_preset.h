// One file of presets/ that is being checked: where its issues go, and typed access to its members.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "engine/config.h"
#include "engine/issue.h"
#include "engine/preset_check/validate_presets.h"
#include "engine/presets/presets.h"
#include "engine/text/json_tree.h"

namespace trainmem {

/// Names of members.
using Keys = std::span<const std::string_view>;

inline bool contains(Keys keys, std::string_view key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

struct CheckedPreset {
  const PresetFile& file;
  const JsonTree& root;
  Issues& issues;

  /// `member`: what is wrong, or empty for the file as a whole.
  void issue(const char* code, const std::string& member, const std::string& message, const std::string& hint) const {
    issues.push_back({code, file.folder + "/" + file.name + (member.empty() ? "" : "/" + member), message, hint});
  }
  /// Empty: there is no such text.
  std::string text(std::string_view member) const {
    const JsonTree* found = root.find(member);
    return found != nullptr && found->kind == JsonKind::text ? found->text : std::string();
  }
  /// 0: there is no such number.
  double number(std::string_view member) const {
    const JsonTree* found = root.find(member);
    return found != nullptr && (found->kind == JsonKind::integer || found->kind == JsonKind::number) ? found->number
                                                                                                     : 0;
  }
  bool has(std::string_view member) const { return root.find(member) != nullptr; }

  void need_text(const char* member) const {
    if (text(member).empty()) issue("missing", member, "The text is missing or empty.", "Every preset has one.");
  }
  void need_sources(const char* member) const {
    const JsonTree* found = root.find(member);
    const bool filled = found != nullptr && (!found->text.empty() || !found->children.empty());
    if (!filled) issue("missing", member, "There is no source.", "Say where the numbers come from.");
  }
};

/// Reads the members that are fields of a configuration as the program does; all others must be among `described`.
Config read_section(const CheckedPreset& preset, const char* section, Keys described);

/// `member`, where there is one, must be a list of names that stand for no other of `presets`.
void check_other_names(const CheckedPreset& preset, const char* member, std::span<const PresetText> presets);

}  // namespace trainmem
