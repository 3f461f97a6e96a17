#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// torch.mean(x, dim=0).
Tensor mean_first(Tensor x);

}  // namespace trainmem
