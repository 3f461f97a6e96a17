// Memory that the backward of flash attention takes inside its kernel.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// Row sums and the gradient of the query in fp32, and with grouped heads the gradients of key and value for every
/// query head, as one piece. query (b, a, s, d), key (b, k, s, d). `packed`: sequences end to end, as flash-attn's own
/// mha_varlen_bwd takes them, which leaves 128 rows between them.
Tensor flash_backward_scratch(const Tensor& query, const Tensor& key, bool packed = false);

/// The rule of that piece.
extern const Rule flash_backward_rule;

}  // namespace trainmem
