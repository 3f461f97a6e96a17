// The kernels of Mamba 1: mamba-ssm's selective scan and what it is fused with.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// What the scan of one layer reads beside the projected states.
struct SelectiveWeights {
  Tensor convolution;       ///< (channels, 1, width)
  Tensor convolution_bias;  ///< undefined: none
  Tensor projection;        ///< of time steps, B and C: (rank + 2 * states, channels)
  Tensor step;              ///< of the time steps: (channels, rank)
  Tensor step_bias;         ///< (channels), fp32
  Tensor decay;             ///< A (channels, states), fp32
  Tensor skip;              ///< D (channels), fp32
  Tensor output;            ///< (hidden, channels)
  bool normed = false;      ///< time steps, B and C are normalised: Falcon Mamba
};

/// Convolution, projections, scan, gate and output projection of the projected states (b, channels and gate, s), in one
/// operation: (b, s, hidden).
Tensor mamba_inner(const Tensor& projected, const SelectiveWeights& weights);

/// What the scan alone reads: (b, channels, s), A (channels, states), B and C (b, s, states), and a number for each
/// channel. Its result is (b, channels, s), gated.
struct SelectiveInputs {
  Tensor hidden, steps, decay, in, out, skip, gate, step_bias;
};
Tensor selective_scan(const SelectiveInputs& inputs);

}  // namespace trainmem
