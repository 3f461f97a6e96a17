// Megatron-Core's layer-wise distributed optimizer: whole weights divided among ranks, so that each steps matrices that
// are whole. Muon takes the matrices that are neither embedding nor head, Adam all else.
//
// By default the matrices lie in buffers of their own, cut so that every rank's weights are one stretch of them, and
// what Adam steps is divided by bytes as by the distributed optimizer. Without that layout
// (--no-use-layer-wise-param-layout) all weights are dealt out in turn, and the ranks exchange them after the step.
// Source: megatron/core/optimizer/layer_wise_optimizer.py (d98e8a64): LayerWiseDistributedOptimizer.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/blocks/megatron/stage_weight.h"

namespace trainmem {

/// What one rank's optimizer has of the weights.
struct OptimizerShare {
  std::int64_t by_muon = 0;  ///< elements, as the following
  std::int64_t by_adam = 0;
  std::int64_t buffer = 0;  ///< of all ranks together, where the layout makes one for the matrices: with its padding
};

/// Matrices packed into equal stretches of a buffer, one for each of `ranks`, for the rank with most elements:
/// _compute_per_buffer_param_layout, where all of a stage's are one bucket (without --overlap-grad-reduce).
OptimizerShare packed_share(const std::vector<StageWeight>& weights, bool experts, std::int64_t ranks);

/// All weights dealt out from the smallest to the largest, to the ranks forwards and back again, for the rank that
/// needs most: _shard_params_ping_pong.
OptimizerShare dealt_share(const std::vector<StageWeight>& weights, bool experts, std::int64_t ranks);

}  // namespace trainmem
