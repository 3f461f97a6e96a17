// The recurrence of RWKV 4: of every channel a mean of the values so far, weighted by exponentials of the keys.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem::transformers {

/// By the kernel: key and value are (b, s, channels), decay and bonus (channels).
Tensor weighted_keys(const Tensor& decay, const Tensor& bonus, const Tensor& key, const Tensor& value);
/// By PyTorch's operations, token by token.
Tensor weighted_keys_by_operations(const Tensor& decay, const Tensor& bonus, const Tensor& key, const Tensor& value);

}  // namespace trainmem::transformers
