// Llama 4's attention and experts: models/llama4/modeling_llama4.py. Its blocks and its model are of Llama's form.
#pragma once

#include <memory>

#include "engine/blocks/transformers/llama_layers.h"

namespace trainmem::transformers {

std::unique_ptr<AttentionPart> make_llama4_attention(const Model& model, const LlamaForm& form, DType dtype,
                                                     std::int64_t layer);
std::unique_ptr<FeedForwardPart> make_llama4_experts(const Model& model, const LlamaForm& form, DType dtype);

}  // namespace trainmem::transformers
