// A table of what is not modelled: one line for each missing feature.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

inline constexpr const char* to_transformers = "/recipe/framework=transformers";

/// `Subject` is Config, or the part of it that `asked` looks at.
template <class Subject>
struct Missing {
  const char* path;
  const char* what;  ///< subject and verb of the sentence
  const char* hint;
  bool (*asked)(const Subject&);
  const char* fix = "";  ///< a value of that field, or "/recipe/framework=transformers" of another; empty: none
};

/// The fix that a line's words stand for.
inline Fix fix_of(std::string_view path, std::string_view fix) {
  if (fix.empty()) return {};
  const std::string_view::size_type equals = fix.find('=');
  if (fix[0] != '/') return {std::string(path), std::string(fix)};
  return {std::string(fix.substr(0, equals)), std::string(fix.substr(equals + 1))};
}

/// Appends a not_yet_modelled issue for every line that is asked for.
template <class Subject>
void report(std::span<const Missing<Subject>> lines, const Subject& subject, Issues& issues) {
  for (const Missing<Subject>& line : lines) {
    if (!line.asked(subject)) continue;
    issues.push_back({"not_yet_modelled", line.path, std::string(line.what) + " not yet modelled.", line.hint,
                      fix_of(line.path, line.fix)});
  }
}

}  // namespace trainmem
