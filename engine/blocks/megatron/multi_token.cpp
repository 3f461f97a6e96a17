// Multi-token prediction of Megatron-Core: further layers on the last stage, each predicting one more token with the
// embedding and the head that it shares: megatron/core/transformer/multi_token_prediction.py.
#include "engine/blocks/megatron/gpt.h"
#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule roll_rule{"rolled tokens", "token ids moved by one",
                         "Megatron-Core multi_token_prediction.py: roll_tensor"};
constexpr Rule gather_rule{"gathered projection", "",
                           "Megatron-Core tensor_parallel/mappings.py: _gather_along_last_dim"};
constexpr Rule scaler_rule{"loss of further tokens", "", "Megatron-Core multi_token_prediction.py: MTPLossAutoScaler"};

/// The hidden states, in whose backward the loss of a further token joins.
Tensor join_loss(const Tensor& hidden, const Tensor& loss) {
  const Ref<Node> node = begin_node(scaler_rule, {&hidden, &loss});
  Tensor result = alias(hidden, hidden.shape(), hidden->strides);
  if (node)
    node->backward = [shape = loss.shape()](Backward& b) {
      b.give(1, allocate(shape, DType::float32, {&scaler_rule}));
      b.give(0, b.take_gradient());
    };
  finish_node(node, result);
  return result;
}

/// Every rank's columns of (s, b, h / t), together.
Tensor gather_columns(const Tensor& x, const Size& ranks) {
  if (ranks == 1) return x;
  const Ref<Node> node = begin_node(gather_rule, {&x});
  const Shape whole{x.size(0), x.size(1), x.size(2) * ranks};
  Tensor result;
  {
    const Tensor by_rank = allocate(whole, x.dtype(), {&gather_rule});
    result = allocate(whole, x.dtype(), {&gather_rule});
  }
  if (node)
    node->backward = [shape = x.shape()](Backward& b) {
      b.give(0, allocate(shape, b.gradient().dtype(), {&gather_rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace

void StageModel::make_next_tokens() {
  const Place place("multi-token prediction");
  const Sizes& z = settings_.sizes;
  const bool recomputed = settings_.recipe.recomputation == Recomputation::full;
  for (std::int64_t i = 0; i < settings_.model.num_nextn_predict_layers; ++i) {
    NextToken next;
    next.embedding_norm = make_norm(z.h, "embedding norm", 1);
    next.hidden_norm = make_norm(z.h, "hidden norm", 1);
    next.combine =
        make_engine_linear(Size(2) * z.h, ceil_divide(z.h, z.t), false, "embedding and hidden projection", 1);
    next.block =
        make_block(static_cast<std::int32_t>(settings_.stage.first_layer + settings_.stage.layers + i), 1, recomputed);
    next.final_norm = make_norm(z.h, "final norm", 1);
    next_tokens_.push_back(std::move(next));
  }
}

Tensor StageModel::next_token_states(const NextToken& next, const Tensor& hidden, const Tensor& embedded) const {
  const Sizes& z = settings_.sizes;
  Tensor states;
  {
    const Place place("multi-token prediction");
    const Tensor token = norm(next.embedding_norm, embedded);
    const Tensor before = norm(next.hidden_norm, hidden);
    Tensor both = concatenate({token, before}, -1);
    states = column_linear(std::move(both), next.combine, z.layout, "embedding and hidden projection");
    states = gather_columns(states, z.t);
    if (z.layout.sequence_parallel) states = scatter_sequence(std::move(states), z.layout);
  }
  states = layer(next.block, std::move(states));
  return norm(next.final_norm, std::move(states));
}

Tensor StageModel::predict_further(Tensor hidden, const MicroBatch& batch) const {
  std::vector<Tensor> states{std::move(hidden)};
  Tensor tokens = batch.ids;
  Tensor position_ids = batch.position_ids;
  for (const NextToken& next : next_tokens_) {
    const Layer scope(next.block.index);
    tokens = allocate(batch.ids.shape(), DType::int64, {&roll_rule});
    position_ids = allocate(batch.ids.shape(), DType::int64, {&roll_rule});
    const Tensor embedded = embed(tokens, position_ids);
    if (!next.block.recomputed) {
      states.push_back(next_token_states(next, states.back(), embedded));
      continue;
    }
    const auto again = [this, &next](const std::vector<Tensor>& x) { return next_token_states(next, x[0], x[1]); };
    states.push_back(recompute(again, {states.back(), embedded}));
  }
  Tensor together = concatenate(states, 0, "hidden states of all predictions");
  std::vector<Size> sizes;
  for (const Tensor& one : states) sizes.push_back(one.size(0));
  states = split(std::move(together), sizes, 0);
  Tensor result = states[0];
  for (std::size_t i = 1; i < states.size(); ++i) {
    const Tensor mask = allocate(batch.loss_mask.shape(), DType::float32, {&roll_rule});
    result = join_loss(result, masked_mean(token_losses(states[i], batch.labels), mask));
  }
  return result;
}

}  // namespace trainmem::megatron
