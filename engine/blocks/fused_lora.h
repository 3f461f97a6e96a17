// LoRA's products of a layer as one operation with a backward of its own, as fms-acceleration has them from Unsloth:
// plugins/fused-ops-and-kernels, fused_ops/unsloth_lora/bnb/fast_lora.py (foundation-model-stack/fms-acceleration,
// commit 0aab2c6f). Neither masks of dropout nor products of the first factor are kept, but the argument and what
// dropout made of it, and their gradient is written where the argument was.
#pragma once

#include "engine/blocks/linear_layer.h"

namespace trainmem {

/// Whether the recipe fuses adapters, and the layer has one.
bool has_fused_adapter(const Linear& layer);

/// The layer's output; its adapter is fused. LoRA_W.
Tensor fused_lora(const Tensor& x, const Linear& layer);

/// Queries, keys and values of one argument, each made where it is called for; of fused adapters, which all three
/// have, all are made where the first is. LoRA_QKV.
class Projections {
 public:
  Projections(const Tensor& x, const Linear& query, const Linear& key, const Linear& value);
  Tensor query() { return take(0); }
  Tensor key() { return take(1); }
  Tensor value() { return take(2); }

 private:
  Tensor take(int which);

  const Tensor& x_;
  const Linear* layers_[3];
  bool fused_;
  Tensor results_[3];
};

}  // namespace trainmem
