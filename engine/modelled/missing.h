// A table of what is not modelled: one line for each missing feature.
#pragma once

#include <span>
#include <string>

#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

/// `Subject` is Config, or the part of it that `asked` looks at.
template <class Subject>
struct Missing {
  const char* path;
  const char* what;  ///< subject and verb of the sentence
  const char* hint;
  bool (*asked)(const Subject&);
};

/// Appends a not_yet_modelled issue for every line that is asked for.
template <class Subject>
void report(std::span<const Missing<Subject>> lines, const Subject& subject, Issues& issues) {
  for (const Missing<Subject>& line : lines) {
    if (!line.asked(subject)) continue;
    issues.push_back({"not_yet_modelled", line.path, std::string(line.what) + " not yet modelled.", line.hint});
  }
}

}  // namespace trainmem
