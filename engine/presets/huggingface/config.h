// A Hugging Face config.json as a Model.
//
// A config.json names only what differs from its class's defaults, and every class has its own: classes.h.
// Keys that do not change any tensor (token ids, epsilons, initialisers, RoPE's base) are ignored.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

/// A value of config.json. Null is the same as a missing key, except where a class's default is not null.
struct HuggingFaceValue {
  enum class Kind { null, boolean, number, text };
  Kind kind = Kind::null;
  double number = 0;  ///< also a boolean: 0 or 1
  std::string text;
};

/// Keys and values; nested objects with a dot: "attn_config.attn_pdrop", and so lists: "layer_types.0".
using HuggingFaceConfig = std::vector<std::pair<std::string, HuggingFaceValue>>;

/// The model that the configuration describes. Appends an issue for an unknown model_type, a missing size or a
/// variant that is not modelled; the model is then of no use. `asked`: which of the keys have been looked at.
Model model_from_huggingface(const HuggingFaceConfig& config, Issues& issues, std::vector<bool>* asked = nullptr);

/// Defaults of a class, sizes included as far as the class has them; null if the model_type is unknown.
/// num_key_value_heads, head_dim and intermediate_size 0: derived from the other sizes.
const Model* huggingface_defaults(std::string_view model_type);

}  // namespace trainmem
