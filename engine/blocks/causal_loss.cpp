#include "engine/blocks/causal_loss.h"

#include <utility>

#include "engine/tensor/ops.h"

namespace trainmem {

namespace {

constexpr Rule labels_rule{"labels", "shifted labels: the backward of the loss needs them",
                           "transformers loss/loss_utils.py: ForCausalLMLoss"};

}  // namespace

Tensor causal_loss(Tensor logits, const Tensor& labels) {
  logits = to(std::move(logits), DType::float32, "fp32 logits");
  const Size batch = labels.size(0);
  const Size sequence = labels.size(1);
  const Tensor padded = allocate({batch, sequence + Size(1)}, DType::int64, {&labels_rule});
  // labels[..., 1:].contiguous(): a view for one sequence, a copy for more.
  const Tensor shifted = batch == 1 ? alias(padded, labels.shape(), labels->strides)
                                    : allocate(labels.shape(), DType::int64, {&labels_rule});
  const Shape rows{batch * sequence, logits.size(-1)};
  logits = view(std::move(logits), rows);
  return cross_entropy(logits, shifted);
}

Tensor without_last(const Tensor& x, const char* role) {
  return contiguous(colons(slice(x, 1, 0, x.size(1) - Size(1)), 1), role);
}

Tensor legacy_loss(Tensor& logits, const Tensor& labels, bool fused) {
  logits = to(std::move(logits), DType::float32, "fp32 logits");
  return shifted_loss(logits, labels, fused);
}

Tensor shifted_loss(const Tensor& logits, const Tensor& labels, bool fused) {
  const Size batch = labels.size(0);
  const Size shorter = labels.size(1) - Size(1);
  Tensor shifted = without_last(logits, "shifted logits");
  const Tensor targets = batch == 1 ? alias(labels, {batch, shorter}, labels->strides)
                                    : allocate({batch, shorter}, DType::int64, {&labels_rule});
  const Shape rows{batch * shorter, shifted.size(-1)};
  shifted = view(std::move(shifted), rows);
  return fused ? fused_cross_entropy(shifted) : cross_entropy(shifted, targets);
}

Tensor compiled_loss(Tensor logits, const Tensor& labels) {
  const Shape rows{logits.elements() / logits.size(-1), logits.size(-1)};
  return compiled_cross_entropy(view(std::move(logits), rows), labels);
}

Tensor chunked_loss(std::vector<Tensor>& chunks, bool compiled) {
  Tensor total;
  for (Tensor& chunk : chunks) {
    const Shape rows{chunk.size(0) * chunk.size(1), chunk.size(2)};
    const Tensor targets = allocate({rows[0]}, DType::int64, {&labels_rule});
    Tensor part = compiled ? compiled_cross_entropy(reshape(chunk, rows), targets)
                           : cross_entropy(to(reshape(chunk, rows), DType::float32, "fp32 logits"), targets);
    if (total.defined())
      total = std::move(total) + std::move(part);
    else
      total = std::move(part);
  }
  chunks.clear();
  return total;
}

}  // namespace trainmem
