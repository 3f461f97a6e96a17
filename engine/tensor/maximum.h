// The larger of a tensor's elements and one number.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// torch.max(x, torch.full((), ...)).
Tensor at_least(Tensor x);

}  // namespace trainmem
