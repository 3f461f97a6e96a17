// The loss that balances the experts of a layer (--moe-aux-loss-coeff), which hangs on the layer's routing scores.
#pragma once

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem::megatron {

/// The scores go on as the result. `logits`: the router's, (tokens, experts). A forward that is computed again in
/// backward makes none at first.
Tensor with_balancing_loss(Tensor scores, const Tensor& logits, const Experts& experts);

}  // namespace trainmem::megatron
