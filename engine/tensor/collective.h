// Collectives of a tensor-parallel group among the operations, as DTensor runs them.
//
// Each is out of place: it allocates its result on the compute stream. A gather or a scatter over another dimension
// than the first takes one more copy, because the collective itself works on the first one.
// Source: pytorch torch/distributed/_functional_collectives.py and torch/distributed/tensor/_redistribute.py.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// Partial sums to the whole sum on every GPU. Its backward passes the gradient on.
Tensor all_reduce(Tensor x);

/// The identity; its backward sums the gradient over the group (a replicated input of a divided layer).
Tensor replicate(Tensor x);

/// Parts of dimension `dimension` to the whole on every GPU; backward scatters partial sums.
Tensor all_gather(Tensor x, int dimension, Size group);

/// Partial sums to this GPU's part of dimension `dimension`; backward gathers.
Tensor reduce_scatter(Tensor x, int dimension, Size group);

}  // namespace trainmem
