// Tensors that are written piece by piece: empty(), then x[..., a:b].copy_(values) for each piece.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// Memory that nothing has been written to; it wants no gradient.
Tensor empty_columns(const Shape& shape, DType dtype, const char* role);
/// The tensor after `values` went into columns of it, in its own format.
Tensor write_columns(Tensor all, const Tensor& values);

}  // namespace trainmem
