// Mamba 2 in PyTorch's operations, which run where mamba-ssm and causal-conv1d are not installed.
#pragma once

#include "engine/blocks/adapter.h"
#include "engine/tensor/mamba_scan.h"

namespace trainmem::transformers {

/// The same as mamba_split_conv1d_scan, of the same projected states, in single operations. `input`: the layer's, in
/// whose format the output projection is given its own. `norm_of_groups`: each group of heads is normalised by itself.
/// `adapter`: of the output's projection, or none.
Tensor mamba_by_operations(const Tensor& projected, const MambaWeights& weights, const Mamba& sizes, Tensor input,
                           bool norm_of_groups, const Adapter& adapter);

}  // namespace trainmem::transformers
