// A Hugging Face config.json in the place of a model.
#pragma once

#include "engine/config.h"
#include "engine/issue.h"
#include "engine/presets/huggingface/config.h"
#include "engine/text/json_tree.h"

namespace trainmem {

/// Such a file names its classes or the version of transformers that wrote it; our objects do neither.
bool is_huggingface(const JsonTree& object);

/// The part that describes the language model, of a model that sees or hears, too; else the whole.
const JsonTree& language_model(const JsonTree& root);

/// The keys of the language model. Issues have paths below /model.
HuggingFaceConfig huggingface_keys(const JsonTree& root, Issues& issues);

/// Issues have paths below /model.
Model read_huggingface(const JsonTree& root, Issues& issues);

}  // namespace trainmem
