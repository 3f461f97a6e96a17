// ALiBi: the slopes times the distances that BLOOM, MPT and Falcon add to the scores.
#pragma once

#include "engine/tensor/ops.h"

namespace trainmem::transformers {

/// build_alibi_tensor of BLOOM and Falcon: (b * a, 1, s) in `dtype`. `attended` is the padding mask, (b, s).
Tensor bloom_alibi(const Tensor& attended, Size heads, DType dtype);

/// build_mpt_alibi_tensor: (a, 1, positions) in fp32.
Tensor mpt_alibi(Size heads, Size positions);

}  // namespace trainmem::transformers
