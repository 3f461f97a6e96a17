// Linear layers that multiply in fp8, as torchao's Float8Linear does: weights and what is kept for backward stay in 16
// bits, and each product takes fp8 copies of its factors.
// Source: torchao torchao/float8/float8_linear.py (matmul_with_hp_or_float8_args: save_for_backward of the 16-bit
// input and weight).
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// x times the transposed weight (out, in), of fp8 copies of both. Compiled: casts are kernels that allocate the copies
/// alone.
Tensor float8_linear(Tensor x, const Tensor& weight, const char* role = nullptr);

}  // namespace trainmem
