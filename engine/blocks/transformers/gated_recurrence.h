// The gated linear recurrence of RecurrentGemma (RG-LRU): models/recurrent_gemma/modeling_recurrent_gemma.py,
// RecurrentGemmaRglru.
#pragma once

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem::transformers {

class GatedRecurrence {
 public:
  GatedRecurrence(const Model& model, DType dtype);
  /// (b, s, width).
  Tensor operator()(const Tensor& x) const;
  /// Lets go of the last state, and of what it hangs on to.
  void forget() const { last_state_.reset(); }

 private:
  Tensor gate(const Tensor& by_head, const Tensor& weight, const Tensor& bias, Tensor& product,
              const Shape& shape) const;

  Size heads_, head_width_;
  Tensor decay_, input_weight_, input_bias_, recurrent_weight_, recurrent_bias_;
  mutable Tensor last_state_;  ///< an attribute of the module: it holds the graph that made it until the next forward
};

}  // namespace trainmem::transformers
