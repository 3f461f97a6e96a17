// Rotary embeddings as torchtune writes them, of query or key (b, s, heads, d).
#pragma once

#include "engine/tensor/ops.h"

namespace trainmem::torchtune {

/// torchtune/modules/position_embeddings.py, RotaryPositionalEmbeddings.forward: neighbouring channels are pairs,
/// turned in fp32. `table` (1, s, 1, d / 2, 2) holds cosines and sines.
Tensor turn_pairs(const Tensor& x, const Tensor& table);

/// torchtune/models/qwen2/_positional_embeddings.py, Qwen2RotaryPositionalEmbeddings.forward: the two halves of a head,
/// in its own format. `table` (1, s, 1, 2 * d) holds cosines, then sines.
Tensor turn_halves(const Tensor& x, const Tensor& table);

/// torchtune/models/phi3/_position_embeddings.py, Phi3RotaryPositionalEmbeddings.forward: the same with tables that
/// stay in fp32, cast back at the end.
Tensor turn_halves_in_fp32(const Tensor& x, const Tensor& table);

}  // namespace trainmem::torchtune
