// The gradient of a table that rows were looked up in.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// The gradient of a table (rows, width), of as many rows as there are `ids`, with what the kernel takes for itself.
Tensor embedding_backward(const Shape& table, DType dtype, const Size& ids, const Label& label);

}  // namespace trainmem
