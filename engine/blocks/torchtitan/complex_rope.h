// Rotary embedding as torchtitan writes it: pairs of channels as complex numbers of fp32.
#pragma once

#include "engine/tensor/ops.h"

namespace trainmem::torchtitan {

/// apply_rotary_emb for query or key (b, s, heads, d): seen as complex numbers, times `frequencies` (1, s, 1, d).
Tensor turn(const Tensor& x, const Tensor& frequencies);

}  // namespace trainmem::torchtitan
