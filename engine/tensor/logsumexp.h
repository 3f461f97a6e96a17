// The logarithm of a sum of exponentials over the last dimension.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// x (..., n) becomes (...).
Tensor logsumexp(Tensor x);

}  // namespace trainmem
