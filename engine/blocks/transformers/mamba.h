// State-space layers, Mamba 2, in the place of attention.
#pragma once

#include "engine/blocks/transformers/llama_layers.h"

namespace trainmem::transformers {

std::unique_ptr<AttentionPart> make_mamba(const Model& model, DType dtype);

}  // namespace trainmem::transformers
