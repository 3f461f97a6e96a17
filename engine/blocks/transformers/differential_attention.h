// Attention twice with the same scores, to one half of the value heads and to the other: of the result half the heads
// are subtracted from the others, times a number that is learned.
#pragma once

#include "engine/blocks/norm_layer.h"
#include "engine/blocks/transformers/parts.h"

namespace trainmem::transformers {

class DifferentialAttention {
 public:
  DifferentialAttention(Size head_dim, DType dtype);
  /// As attention(): (b, s, heads, d), where two heads are one of twice the width.
  Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, AttentionKernel kernel,
                    const AttentionOptions& options, Tensor& weights) const;

 private:
  /// What is learned, in the format of `dtype`.
  Tensor factor(DType dtype) const;

  Tensor first_query_, first_key_, second_query_, second_key_;
  NormLayer norm_;
};

}  // namespace trainmem::transformers
