// GPT as litgpt writes it: litgpt/model.py (v0.5.13), with the loss of its training loops.
//
// One linear layer makes query, key and value; RMSNorm and RoPE run in fp32; keys and values are repeated before
// attention; the head is never the embedding.
#pragma once

#include <memory>

#include "engine/blocks/architecture.h"

namespace trainmem::litgpt {

/// Whether litgpt has a forward for it: Llama, Mistral, Gemma, Pythia and StableLM, Phi-2, Falcon 7B and their like.
bool describes(const Model& model);

/// A chunked loss is that of its fine-tuning, in chunks of 128 tokens; else it is whole, as in litgpt/pretrain.py.
std::unique_ptr<Architecture> make_decoder(const Model& model, DType weights, const Recipe& recipe);

}  // namespace trainmem::litgpt
