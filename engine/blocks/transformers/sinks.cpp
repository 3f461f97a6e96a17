// Eager attention with sinks, one learned score for each head that takes part in the softmax:
// models/gpt_oss/modeling_gpt_oss.py, eager_attention_forward.
#include "engine/blocks/transformers/parts.h"

namespace trainmem::transformers {

Tensor sink_attention(const Tensor& query, Tensor key, Tensor value, const Tensor& mask, const Tensor& sinks,
                      double drop, Tensor& weights) {
  const Size groups = query.size(1) / key.size(1);
  key = repeat_kv(key, groups);
  value = repeat_kv(value, groups);
  weights = multiply_number(matmul(query, transpose(key, 2, 3)));
  if (mask.defined()) weights = weights + mask;
  const Tensor by_head = view(sinks, {1, sinks.size(0), 1, 1});
  const Tensor column = expand(by_head, {query.size(0), query.size(1), query.size(2), 1});
  Tensor combined = concatenate({weights, column}, -1, "scores and sinks");
  {
    const Tensor maximum = top_k(combined, 1).values;
    combined = subtract(combined, maximum);
  }
  const Tensor probabilities = softmax(combined, combined.dtype());
  const Tensor scores = slice(probabilities, -1, 0, key.size(2));
  weights = to(dropout(scores, drop), value.dtype());
  return contiguous(transpose(matmul(weights, value), 1, 2));
}

}  // namespace trainmem::transformers
