// Llama 2 7B, and what validation says of it after one change.
#pragma once

#include <string>

#include "engine/presets/apply.h"
#include "engine/validation/validate.h"

namespace trainmem {

inline Config llama() {
  Config config;
  Issues issues;
  apply_model_preset("llama2-7b", config, issues);
  return config;
}

/// "code path; " of every issue after one change of Llama 2 7B with the default recipe. What is not yet modelled
/// is left out: it changes as the engine grows.
template <class Change>
std::string issues_after(Change change) {
  Config config = llama();
  change(config);
  std::string all;
  for (const Issue& issue : validate(config)) {
    if (issue.code != "not_yet_modelled") all += issue.code + " " + issue.path + "; ";
  }
  return all;
}

/// Code and path of the first; empty if there is none.
inline std::string path_of_first_issue(const Config& config) {
  const Issues issues = validate(config);
  return issues.empty() ? "" : issues.front().code + " " + issues.front().path;
}

}  // namespace trainmem
