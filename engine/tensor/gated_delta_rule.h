// Kernels of gated delta networks, as flash-linear-attention brings them.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// The gated delta rule by chunks of the sequence, queries and keys normalised in the kernel: q and k (b, s, heads,
/// key width), v (b, s, heads, value width), decay and beta (b, s, heads). Returns a tensor like v.
Tensor chunk_gated_delta_rule(Tensor q, Tensor k, Tensor v, Tensor decay, Tensor beta);

}  // namespace trainmem
