// A Hugging Face config.json among what is brought.
#pragma once

#include "engine/launch/format.h"
#include "engine/text/json_tree.h"

namespace trainmem {

/// Reads the model, and says of each key which fields it decides, or that it decides none.
void read_config_json(const JsonTree& root, Import& out);

}  // namespace trainmem
