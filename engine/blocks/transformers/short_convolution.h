// What stands in the place of attention in most layers of LFM2.
#pragma once

#include "engine/blocks/transformers/llama_layers.h"

namespace trainmem::transformers {

std::unique_ptr<AttentionPart> make_short_convolution(const Model& model, DType dtype);

}  // namespace trainmem::transformers
