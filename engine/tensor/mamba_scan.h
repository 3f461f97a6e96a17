// Kernels of Mamba 2, as mamba-ssm and causal-conv1d bring them.
#pragma once

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// What the fused kernels of one layer read beside the projected states.
struct MambaWeights {
  Tensor convolution;       ///< (channels, 1, width)
  Tensor convolution_bias;  ///< undefined: none
  Tensor step_bias;         ///< dt_bias (heads)
  Tensor decay;             ///< A (heads), fp32
  Tensor skip;              ///< D (heads)
  Tensor norm;              ///< (heads * head width); undefined: the scan's result is gated and not normalised
  Tensor output;            ///< (hidden, heads * head width)
  Tensor output_bias;       ///< undefined: none
};

/// -exp(A_log), in fp32.
Tensor decay_of(Tensor logarithm);

/// Convolution, state-space scan by chunks, gated norm and output projection of the projected states (b, s, gate and
/// channels and heads), in one operation: (b, s, hidden).
Tensor mamba_split_conv1d_scan(Tensor projected, const MambaWeights& weights, const Mamba& sizes);

}  // namespace trainmem
