// JetMoE: experts of attention, which have queries and outputs of their own and share keys and values, and experts in
// place of the MLP.
#pragma once

#include <memory>

#include "engine/blocks/transformers/llama_layers.h"

namespace trainmem::transformers {

std::unique_ptr<AttentionPart> make_jetmoe_attention(const Model& m, DType dtype);
std::unique_ptr<FeedForwardPart> make_jetmoe_experts(const Model& m, DType dtype);

}  // namespace trainmem::transformers
