// Gated delta networks in PyTorch's operations, which run where flash-linear-attention is not installed.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem::transformers {

/// The same as chunk_gated_delta_rule, of the same tensors, in single operations.
Tensor delta_rule_by_operations(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& decay,
                                const Tensor& rate);
/// RMS norm of x, times SiLU of a gate, in single operations.
Tensor gated_norm_by_operations(const Tensor& x, const Tensor& gate, const Tensor& weight);

}  // namespace trainmem::transformers
