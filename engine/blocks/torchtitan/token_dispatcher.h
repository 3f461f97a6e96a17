// How torchtitan brings tokens to their experts and back: models/common/token_dispatcher.py (LocalTokenDispatcher,
// AllToAllTokenDispatcher).
#pragma once

#include "engine/tensor/ops.h"

namespace trainmem::torchtitan {

/// Tokens in the order of their experts, and what brings the results back.
struct Dispatched {
  Tensor input;    ///< (rows of this GPU's experts, hidden)
  Tensor source;   ///< token of each of this GPU's own copies
  Tensor weights;  ///< of the same copies, fp32
  Tensor order;    ///< with several GPUs: from the order of senders to that of experts
};

/// `chosen` and `weights`: (tokens, experts per token); `counts`: this GPU's tokens of each expert. Several GPUs
/// (ModelSettings::expert_parallel) exchange their counts and copies.
Dispatched dispatch(const Tensor& tokens, const Tensor& weights, const Tensor& chosen, const Tensor& counts);
/// The weighted sum of the experts' results, for each of `tokens`.
Tensor combine(const Tensor& results, const Dispatched& dispatched, const Tensor& tokens);

}  // namespace trainmem::torchtitan
