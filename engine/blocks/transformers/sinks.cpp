// Eager attention with sinks, one learned score for each head that takes part in the softmax:
// models/gpt_oss, mimo_v2_flash and granite_swa, modeling_*.py, eager_attention_forward.
#include <utility>

#include "engine/blocks/transformers/parts.h"
#include "engine/tensor/logsumexp.h"

namespace trainmem::transformers {

namespace {

/// The scores, and beside them the sinks as if they were those of one more token.
Tensor with_column(const Tensor& scores, const Tensor& sinks) {
  const Tensor by_head = view(sinks, {1, sinks.size(0), 1, 1});
  const Tensor column = expand(by_head, {scores.size(0), scores.size(1), scores.size(2), 1});
  return concatenate({scores, column}, -1, "scores and sinks");
}

/// A softmax without sinks, whose output is scaled; key and value are repeated.
Tensor scaled_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                        const Tensor& sinks, double drop, Tensor& weights) {
  weights = multiply_number(matmul(query, transpose(key, 2, 3)));
  if (mask.defined()) weights = weights + mask;
  const Tensor sums = logsumexp(weights);
  const Tensor scale = sigmoid(to(subtract(sums, view(sinks, {1, sinks.size(0), 1})), DType::float32));
  weights = to(softmax(weights, DType::float32), query.dtype());
  weights = dropout(weights, drop);
  Tensor out = matmul(weights, value);
  out = multiply(out, to(unsqueeze(scale, 3), out.dtype()));
  return contiguous(transpose(std::move(out), 1, 2));
}

}  // namespace

Tensor sink_attention(const Tensor& query, Tensor key, Tensor value, const Tensor& mask, const Tensor& sinks,
                      double drop, Sinks form, Tensor& weights) {
  const Size groups = query.size(1) / key.size(1);
  key = repeat_kv(key, groups);
  value = repeat_kv(value, groups);
  if (form == Sinks::scale) return scaled_attention(query, key, value, mask, sinks, drop, weights);
  weights = multiply_number(matmul(query, transpose(key, 2, 3)));
  if (mask.defined()) weights = weights + mask;
  Tensor combined = sinks.defined() ? with_column(weights, sinks) : weights;
  if (form == Sinks::joined_column) weights.reset();
  Tensor maximum = top_k(combined, 1).values;
  combined = subtract(combined, std::move(maximum));
  const Tensor probabilities = softmax(combined, combined.dtype());
  if (form == Sinks::joined_column) weights = std::move(combined);
  const Tensor scores = sinks.defined() ? slice(probabilities, -1, 0, key.size(2)) : probabilities;
  weights = to(dropout(scores, drop), value.dtype());
  return contiguous(transpose(matmul(weights, value), 1, 2));
}

}  // namespace trainmem::transformers
