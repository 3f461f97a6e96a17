// What recurrences over a sequence are taken apart into, chunk by chunk, where their kernels are not installed.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem::transformers {

/// torch.nn.functional.pad, seen as `shape`: a copy, with nothing to add as well.
Tensor padded(const Tensor& x, const Shape& shape);
/// Sums of all that came before, and itself.
Tensor cumsum(const Tensor& x);
/// causal_conv1d_fn, with its SiLU: (b, channels, s).
Tensor causal_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace trainmem::transformers
