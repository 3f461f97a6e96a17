// Part of reading a config.json: classes that are new in transformers 5.
#pragma once

#include <string_view>

#include "engine/config.h"
#include "engine/presets/huggingface_keys.h"

namespace trainmem {

const Model* huggingface_v5_defaults(std::string_view model_type);

/// Keys that single ones of these classes have otherwise, after the common ones have been read.
void read_v5_class_keys(Model& model, const HuggingFaceKeys& keys, Issues& issues);

}  // namespace trainmem
