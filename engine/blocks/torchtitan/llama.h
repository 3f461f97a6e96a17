// Llama as torchtitan writes it: torchtitan/models/llama3/model/model.py.
//
// Rotary embedding in complex numbers, keys and values repeated before attention, RMSNorm in one kernel
// (torch.nn.RMSNorm) or written out as earlier versions had it, the loss outside of the model.
#pragma once

#include <memory>

#include "engine/blocks/transformers/model.h"

namespace trainmem::torchtitan {

/// Whether torchtitan's Llama describes the model: RMSNorm before attention and MLP, a gated MLP, RoPE, no biases.
bool describes(const Model& model);
/// Whether the last block stays gathered after forward, as Llama's does (torchtitan 9dec370
/// parallelisms/parallelize_llama.py: apply_fsdp); other models' blocks are all resharded (d66b72a
/// experiments/llama4/infra/parallelize.py: apply_fsdp).
bool keeps_last_block(const Model& model);

/// `float8`: linear layers of dense blocks multiply in fp8.
std::unique_ptr<transformers::Architecture> make_llama(const Model& model, DType weights, bool fused_norm, bool float8);

}  // namespace trainmem::torchtitan
