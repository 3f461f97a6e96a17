// One problem with an input, in a form that a program and a person can both use.
#pragma once

#include <string>
#include <vector>

namespace trainmem {

struct Issue {
  std::string code;     ///< stable word: unknown_key, wrong_type, out_of_range, not_divisible, unknown_preset,
                        ///< not_yet_modelled, ...
  std::string path;     ///< JSON pointer into the configuration: /recipe/tensor_parallel
  std::string message;  ///< one sentence
  std::string hint;     ///< what to do; may be empty
};

using Issues = std::vector<Issue>;

}  // namespace trainmem
