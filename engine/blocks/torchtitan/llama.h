// Llama as torchtitan writes it: torchtitan/models/llama3/model/model.py.
//
// Rotary embedding in complex numbers, keys and values repeated before attention, RMSNorm in one kernel
// (torch.nn.RMSNorm) or written out as earlier versions had it, the loss outside of the model.
#pragma once

#include <memory>

#include "engine/blocks/architecture.h"

namespace trainmem::torchtitan {

/// Whether torchtitan's Llama describes the model: RMSNorm before attention and MLP, a gated MLP, RoPE, no biases.
bool describes(const Model& model);

/// `float8`: linear layers of dense blocks multiply in fp8.
std::unique_ptr<Architecture> make_llama(const Model& model, DType weights, const Recipe& recipe);

}  // namespace trainmem::torchtitan
