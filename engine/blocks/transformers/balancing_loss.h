// The loss that balances the experts, from what all routers of a model said.
#pragma once

#include <vector>

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem::transformers {

/// Whether the class of this model returns its routers' logits and makes a loss of them (output_router_logits).
bool has_balancing_loss(const Model& model);

/// A router's logits are there: whoever collects them in this forward gets them.
void collect_router_logits(const Tensor& logits);

/// A number. `mask`: the attention mask (b, s) that the model was given; undefined: none.
Tensor balancing_loss(const std::vector<Tensor>& router_logits, const Experts& experts, const Tensor& mask);

}  // namespace trainmem::transformers
