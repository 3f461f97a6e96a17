// Attention of Llama and Qwen 3 in torchtitan since June 2026: one projection of query, key and value, a rotary table
// of its own, and FlexAttention of grouped heads over all sequences of a micro-batch as one. Source: pytorch/torchtitan
// b5bcd76c, torchtitan/models/common/attention.py (GQAttention, FusedQKVLinear).
#pragma once

#include <optional>

#include "engine/blocks/linear_layer.h"
#include "engine/blocks/torchtitan/form.h"
#include "engine/blocks/torchtitan/rope.h"

namespace trainmem::torchtitan {

/// Qwen 3: heads are normalised and turned by the halves of their channels (models/common/rope.py: CosSinRoPE).
inline bool turns_halves(const Model& m) { return m.qk_norm == QkNorm::per_head; }

class GroupedAttention {
 public:
  GroupedAttention(const Model& model, DType dtype, const Form& form);
  /// (1, tokens, hidden)
  Tensor operator()(const Tensor& x) const;

 private:
  const Model& model_;
  Size documents_;
  Rope rope_;
  Linear together_, output_;
  NormLayer query_norm_, key_norm_;
};

}  // namespace trainmem::torchtitan
