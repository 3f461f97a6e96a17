// Tokens of a sequence taken one after another, as loops of Python do.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// x[:]: a view, whose backward writes the gradient into zeros of its size.
Tensor whole_slice(const Tensor& x);
/// x[:, token] of (b, s, ...).
Tensor at_token(const Tensor& x);

}  // namespace trainmem
