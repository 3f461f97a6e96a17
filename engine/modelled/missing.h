// A table of what is not modelled: one line for each missing feature.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

/// A value that makes the issue go: of the field at which it stands, or of another one.
struct SettledBy {
  const char* path = nullptr;   ///< null: the field at which the issue stands
  const char* value = nullptr;  ///< as links write it; null: no one value does
  constexpr SettledBy() = default;
  constexpr SettledBy(const char* of_this_field) : value(of_this_field) {}
  constexpr SettledBy(const char* of_field, const char* set_to) : path(of_field), value(set_to) {}
};

inline constexpr SettledBy to_transformers{"/recipe/framework", "transformers"};

/// `Subject` is Config, or the part of it that `asked` looks at.
template <class Subject>
struct Missing {
  const char* path;
  const char* what;  ///< subject and verb of the sentence
  const char* hint;
  bool (*asked)(const Subject&);
  SettledBy settled_by = {};
};

/// Appends a not_yet_modelled issue for every line that is asked for.
template <class Subject>
void report(std::span<const Missing<Subject>> lines, const Subject& subject, Issues& issues) {
  for (const Missing<Subject>& line : lines) {
    if (!line.asked(subject)) continue;
    Issue issue{"not_yet_modelled", line.path, std::string(line.what) + " not yet modelled.", line.hint};
    const SettledBy& by = line.settled_by;
    if (by.value != nullptr) issue.fix = {by.path != nullptr ? by.path : line.path, by.value};
    issues.push_back(std::move(issue));
  }
}

}  // namespace trainmem
