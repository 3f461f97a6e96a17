// How often an optimizer's step reads and writes what it works on: passes over weights, gradients and states.
//
// A fused step is one pass: it reads weight, gradient and states, and writes weight and states. Steps that are written
// as a list of statements (foreach, for-loop) sweep through memory once for each operand of each statement, for a list
// of all tensors is far larger than any cache.
#pragma once

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

/// Reads plus writes. Weights, gradients: of all their bytes. States, temporaries: of the bytes of one state tensor
/// for each parameter, of which an optimizer has `state_tensors`.
struct OptimizerPasses {
  int weights = 0;
  int gradients = 0;
  int states = 0;
  int state_tensors = 0;
  int temporaries = 0;
  const char* source = "";
};

/// Passes of the step alone, without clipping. Where no statements are listed: one pass, the least there can be.
OptimizerPasses optimizer_passes(Optimizer optimizer, OptimizerImplementation asked);
/// The same for a recipe: the optimizers of Megatron and DeepSpeed are fused kernels.
OptimizerPasses optimizer_passes(const Recipe& recipe);

/// Passes over the gradients when their total norm is clipped: torch/nn/utils/clip_grad.py reads them for the norm,
/// and multiplies them by the clipping factor whatever it is.
inline constexpr int clipping_passes = 3;

/// What one GPU holds when its optimizer steps, in bytes.
struct OptimizerHoldings {
  double trained_weights = 0;
  double master_weights = 0;  ///< 0: the optimizer updates the weights themselves
  double gradients = 0;
  double states = 0;
};

/// Bytes that the optimizer's phase moves, by component; exact below 2^53. With master weights these are updated, and
/// the weights written from them.
ByComponent<double> optimizer_traffic(const Recipe& recipe, const OptimizerHoldings& holdings);

}  // namespace trainmem
