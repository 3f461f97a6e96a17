// Experts of Granite 3 and 4.
#pragma once

#include <memory>

#include "engine/blocks/transformers/llama_layers.h"

namespace trainmem::transformers {

std::unique_ptr<FeedForwardPart> make_granite_moe(const Model& model, const LlamaForm& form, DType dtype);

}  // namespace trainmem::transformers
