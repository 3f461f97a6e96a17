// Bring your own: any text that describes a model or a training run, as far as it can be used.
//
// Known are a Hugging Face config.json, arguments of transformers' Trainer and of TRL, on a command line or in Python,
// Jupyter notebooks of those, YAML of axolotl, LLaMA-Factory, torchtune and accelerate, DeepSpeed JSON, torchtitan
// TOML, Megatron arguments, and this program's own JSON and links.
// What kind it is is seen from the text.
#pragma once

#include <string>
#include <string_view>

#include "engine/launch/format.h"

namespace trainmem {

Import import_text(std::string_view text);

/// Is it a text that only import_text reads, neither our JSON nor a link?
bool is_foreign(std::string_view text);

}  // namespace trainmem
