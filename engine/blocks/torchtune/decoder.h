// Llama, Mistral, Qwen 2, Gemma, Gemma 2 and Phi-3 as torchtune writes them: torchtune/modules/transformer.py and
// attention.py, models/ (v0.6.1).
//
// Norms and most rotary embeddings run on casts to fp32, keys and values are repeated before attention, the logits
// leave the model in fp32, the loss is the training loop's.
#pragma once

#include <memory>

#include "engine/blocks/architecture.h"

namespace trainmem::torchtune {

/// Whether one of these models describes it: RMSNorm before attention and MLP, a gated MLP, RoPE of whole heads.
bool describes(const Model& model);

std::unique_ptr<Architecture> make_decoder(const Model& model, DType weights);

}  // namespace trainmem::torchtune
