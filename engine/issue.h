// One problem with an input, in a form that a program and a person can both use.
#pragma once

#include <string>
#include <vector>

namespace trainmem {

/// One field set to one value.
struct Fix {
  std::string path;   ///< JSON pointer of the field; empty: there is no such field
  std::string value;  ///< as links write it: transformers, 1024, 0 for false
};

struct Issue {
  std::string code;     ///< stable word: unknown_key, wrong_type, out_of_range, not_divisible, unknown_preset,
                        ///< not_yet_modelled, ...
  std::string path;     ///< JSON pointer into the configuration: /recipe/tensor_parallel
  std::string message;  ///< one sentence
  std::string hint;     ///< what to do; may be empty
  Fix fix = {};         ///< what the hint begins with, where that is one value of one field
};

using Issues = std::vector<Issue>;

}  // namespace trainmem
