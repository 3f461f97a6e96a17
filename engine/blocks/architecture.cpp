#include "engine/blocks/architecture.h"

#include <utility>

#include "engine/blocks/causal_loss.h"
#include "engine/parallel/tensor.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

Tensor input_embeddings(const Tensor& table, const Tensor& ids, const Tensor& scale, const NormLayer* norm) {
  const bool divided = active_run().settings.tensor_parallel.size > 1;
  Tensor embedded = divided ? vocabulary_embedding(table, ids) : embedding(table, ids);
  if (scale.defined()) embedded = embedded * scale;
  if (norm != nullptr) embedded = (*norm)(std::move(embedded));
  const bool wants = !divided && active_run().settings.inputs_want_gradient;
  return wants ? require_gradient(std::move(embedded)) : embedded;
}

ForwardState Architecture::resume(Tensor hidden, AttentionKernel attention) {
  ForwardState state;
  state.hidden = std::move(hidden);
  state.inputs.attention = attention;
  return state;
}

BlockInputs Architecture::inputs_of(const ForwardState& state, std::int64_t) const { return state.inputs; }

Tensor Architecture::embed(const Tensor& table, const Tensor& ids, const Tensor& scale, const NormLayer* norm) const {
  Tensor embedded = input_embeddings(table, ids, scale, norm);
  return after_embedding ? after_embedding(std::move(embedded)) : embedded;
}

bool Architecture::loss_is_outside() const { return active_run().settings.tensor_parallel.size > 1; }

Tensor Architecture::loss(Tensor logits, const Tensor& labels) {
  if (active_run().settings.tensor_parallel.size > 1) return loop_loss(logits, labels);
  return causal_loss(std::move(logits), labels);
}

}  // namespace trainmem
