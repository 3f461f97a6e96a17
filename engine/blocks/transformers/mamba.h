// State-space layers, Mamba, in the place of attention.
#pragma once

#include "engine/blocks/transformers/llama_layers.h"

namespace trainmem::transformers {

std::unique_ptr<AttentionPart> make_mamba(const Model& model, DType dtype);
/// The first Mamba, whose time steps have a rank.
std::unique_ptr<AttentionPart> make_mamba1(const Model& model, DType dtype);

}  // namespace trainmem::transformers
