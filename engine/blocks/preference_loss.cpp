#include "engine/blocks/preference_loss.h"

#include "engine/blocks/token_log_probabilities.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* trainer = "TRL trainer/dpo_trainer.py: DPOTrainer._compute_loss";
constexpr Rule mask_rule{"completion mask", "tokens outside the completions: their log-probabilities are set to zero",
                         trainer};
constexpr Rule loss_rule{"preference loss", "", trainer};
constexpr Rule chosen_rule{"logits of completions", "", trainer};

/// x[..., :-1, :].
Tensor shifted_of(const Tensor& logits) { return slice(logits, 1, 0, logits.size(1) - Size(1)); }

/// x[mask] = 0.
Tensor set_to_zero(const Tensor& x, const Tensor& mask) {
  const Ref<Node> node = begin_node(mask_rule, {&x});
  keep(node, mask);
  Tensor result = alias(x, x.shape(), x->strides);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor gradient = b.take_gradient();
      b.give(0, allocate(gradient.shape(), gradient.dtype(), {&mask_rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace

Tensor token_log_probabilities(const Tensor& logits, const Tensor& ids, const Tensor& completion_mask) {
  const Tensor shifted = shifted_of(logits);
  const Tensor index = alias(ids, {ids.size(0), ids.size(1) - Size(1), 1}, ids->strides);
  const Tensor tokens = selective_log_softmax(shifted, index);
  const Tensor mask =
      allocate({completion_mask.size(0), completion_mask.size(1) - Size(1)}, DType::boolean, {&mask_rule, "mask"});
  return set_to_zero(tokens, mask);
}

Tensor sequence_log_probabilities(const Tensor& tokens) { return sum(tokens, 1); }

Tensor preference_loss(const Tensor& policy, const Tensor& reference) {
  const Tensor ratios = subtract(policy, reference);
  const Ref<Node> node = begin_node(loss_rule, {&ratios});
  Tensor loss = allocate({}, ratios.dtype(), {&loss_rule, "loss"});
  if (node)
    node->backward = [shape = ratios.shape(), dtype = ratios.dtype()](Backward& b) {
      b.give(0, allocate(shape, dtype, {&loss_rule}));
    };
  finish_node(node, loss);
  return loss;
}

void preference_metrics(const Tensor& logits) {
  const Size pairs = logits.size(0) / Size(2);
  const Size rows = logits.size(0) * (logits.size(1) - Size(1));
  const Size vocabulary = logits.size(2);
  const DType dtype = logits.dtype();
  entropy_from_logits(alias(logits, {logits.size(0), logits.size(1) - Size(1), vocabulary}, logits->strides));
  for (int i = 0; i < 2; ++i) {  // chosen, rejected
    const Tensor of_completions = allocate({rows / Size(2), vocabulary}, dtype, {&chosen_rule});
    allocate({rows / Size(2)}, dtype, {&chosen_rule});
  }
  allocate({pairs, logits.size(1) - Size(1)}, DType::int64, {&chosen_rule, "predictions"});
}

// TRL trainer/kto_trainer.py: both halves are copies, of which the completions are chosen one after the other.
void unpaired_metrics(const Tensor& logits) {
  const Size tokens = logits.size(1) - Size(1);
  const Size vocabulary = logits.size(2);
  entropy_from_logits(alias(logits, {logits.size(0), tokens, vocabulary}, logits->strides));
  const Size wanted = maximum(logits.size(0) / Size(2), Size(1));
  const auto half = [&] { return allocate({wanted, tokens, vocabulary}, logits.dtype(), {&chosen_rule}); };
  const Tensor chosen = half();
  const Tensor rejected = half();
  half();
}

}  // namespace trainmem
