// Memory that the backward of flash attention takes inside its kernel.
#pragma once

#include <functional>

#include "engine/tensor/tensor.h"

namespace trainmem {

/// Runs `make_gradients`, which allocates those of query, key and value, with what the kernel takes beside them: row
/// sums and the gradient of the query in fp32, and with grouped heads the gradients of key and value for every query
/// head. query (b, a, s, d), key (b, k, s, d). `packed`: sequences end to end, as flash-attn's own mha_varlen_bwd takes
/// them, which leaves 128 rows between them. Recorders compute the sum of the pieces and put it down as one, before the
/// gradients: so does this under a dispatch mode.
void flash_backward(const Tensor& query, const Tensor& key, bool packed, const std::function<void()>& make_gradients);

/// The rule of the kernel's pieces.
extern const Rule flash_backward_rule;

}  // namespace trainmem
