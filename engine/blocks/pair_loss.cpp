#include "engine/blocks/pair_loss.h"

#include <utility>

#include "engine/blocks/token_log_probabilities.h"
#include "engine/tensor/ops.h"

namespace trainmem {

namespace {

constexpr Rule last_token_rule{"index", "where each sequence ends",
                               "transformers modeling_layers.py: GenericForSequenceClassification, pooled_logits"};
constexpr Rule labels_rule{"labels of completions", "", "TRL experimental/cpo/cpo_trainer.py: get_batch_logps"};
constexpr Rule ranking_rule{"ranking loss", "",
                            "TRL trainer/reward_trainer.py: compute_loss; experimental/cpo/cpo_trainer.py: cpo_loss; "
                            "experimental/orpo/orpo_trainer.py: odds_ratio_loss"};

}  // namespace

Tensor score_of_last_token(Tensor argument) {
  const Tensor scores = std::move(argument);
  const Size sequences = scores.size(0);
  {
    const Shape of_tokens{sequences, scores.size(1)};
    const Tensor not_padding = allocate(of_tokens, DType::int32, {&last_token_rule});
    const Tensor positions = allocate({scores.size(1)}, DType::int32, {&last_token_rule});
    const Tensor products = allocate(of_tokens, DType::int32, {&last_token_rule});
  }
  const Ref<Node> node = begin_node(last_token_rule, {&scores});
  const Tensor last = allocate({sequences}, DType::int64, {&last_token_rule, "last tokens"});
  keep(node, last);
  keep(node, allocate({sequences}, DType::int64, {&last_token_rule, "sequences"}));
  Tensor result = allocate({sequences, 1}, scores.dtype(), {&last_token_rule, "scores"});
  if (node)
    node->backward = [shape = scores.shape()](Backward& b) {
      b.give(0, allocate(shape, b.gradient().dtype(), {&last_token_rule, "gradient of scores"}));
    };
  finish_node(node, result);
  return result;
}

Tensor chosen_cross_entropy(const Tensor& logits, const Tensor& labels) {
  const Size pairs = logits.size(0) / Size(2);
  const Size length = logits.size(1) - Size(1);
  const Tensor rows = contiguous(slice(slice(logits, 0, 0, pairs), 1, 0, length), "logits of chosen sequences");
  const Tensor targets = allocate({pairs * length}, labels.dtype(), {&labels_rule});
  return cross_entropy(view(rows, {pairs * length, logits.size(2)}), targets);
}

Tensor completion_log_probabilities(const Tensor& logits, const Tensor& labels) {
  const Size length = logits.size(1) - Size(1);
  const Tensor targets = allocate({logits.size(0), length}, labels.dtype(), {&labels_rule});
  const Tensor shifted = slice(logits, 1, 0, length);
  const Tensor mask = allocate({logits.size(0), length}, DType::boolean, {&labels_rule, "mask"});
  const Tensor index = alias(targets, {logits.size(0), length, 1}, targets->strides);
  const Tensor tokens = selective_log_softmax(shifted, index);
  return sum(multiply(tokens, mask), 1);
}

Tensor ranking_loss(const Tensor& of_sequences) {
  const Ref<Node> node = begin_node(ranking_rule, {&of_sequences});
  Tensor loss = allocate({}, of_sequences.dtype(), {&ranking_rule, "loss"});
  if (node)
    node->backward = [shape = of_sequences.shape(), dtype = of_sequences.dtype()](Backward& b) {
      b.give(0, allocate(shape, dtype, {&ranking_rule}));
    };
  finish_node(node, loss);
  return loss;
}

}  // namespace trainmem
