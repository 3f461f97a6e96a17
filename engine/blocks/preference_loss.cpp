#include "engine/blocks/preference_loss.h"

#include <utility>
#include <vector>

#include "engine/tensor/logsumexp.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* trainer = "TRL trainer/dpo_trainer.py: DPOTrainer._compute_loss";
constexpr Rule mask_rule{"completion mask", "tokens outside the completions: their log-probabilities are set to zero",
                         trainer};
constexpr Rule loss_rule{"preference loss", "", trainer};
constexpr Rule entropy_rule{"entropy", "", "TRL trainer/utils.py: entropy_from_logits"};
constexpr Rule chosen_rule{"logits of completions", "", trainer};

/// x[..., :-1, :].
Tensor shifted_of(const Tensor& logits) { return slice(logits, 1, 0, logits.size(1) - Size(1)); }

std::vector<Tensor> rows_of(const Tensor& x) {
  return split(x, std::vector<Size>(static_cast<std::size_t>(x.size(0).value()), Size(1)), 0);
}

/// In 32 bits: the chosen logit less the log-sum-exp of its row, one sequence after another.
Tensor from_logsumexp(const Tensor& logits, const Tensor& index) {
  Tensor selected = gather(logits, index);
  std::vector<Tensor> sums;
  for (const Tensor& row : rows_of(logits)) sums.push_back(logsumexp(row));
  Tensor all = concatenate(sums, 0);
  let_go(sums);
  Tensor result = subtract(std::move(selected), unsqueeze(std::move(all), 2));
  return view(std::move(result), {logits.size(0), logits.size(1)});
}

/// In 16 bits: log-probabilities of one sequence after another, of which one in each row is chosen.
Tensor from_log_softmax(const Tensor& logits, const Tensor& index) {
  std::vector<Tensor> chosen;
  const std::vector<Tensor> rows = rows_of(logits);
  const Tensor of_row = alias(index, {1, index.size(1), 1}, index->strides);
  Tensor probabilities;  // a variable of the loop
  for (const Tensor& row : rows) {
    probabilities = log_softmax(row);
    chosen.push_back(gather(probabilities, of_row));
  }
  const Tensor result = concatenate(chosen, 0);
  return view(result, {logits.size(0), logits.size(1)});
}

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
  const Tensor tokens =
      shifted.dtype() == DType::float32 ? from_logsumexp(shifted, index) : from_log_softmax(shifted, index);
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
  constexpr std::int64_t chunk = 128;  // rows
  const Size pairs = logits.size(0) / Size(2);
  const Size rows = logits.size(0) * (logits.size(1) - Size(1));
  const Size vocabulary = logits.size(2);
  const DType dtype = logits.dtype();
  {
    const Tensor flat = allocate({rows, vocabulary}, dtype, {&entropy_rule, "flat logits"});
    const Tensor entropies = allocate({rows}, dtype, {&entropy_rule});
    Tensor probabilities;  // a variable of the loop: two of its turns show all that is ever alive together
    for (int i = 0; i < 2; ++i) {
      const auto of_chunk = [&] { return allocate({minimum(rows, chunk), vocabulary}, dtype, {&entropy_rule}); };
      probabilities = of_chunk();
      const Tensor exponentials = of_chunk();
      of_chunk();
    }
  }
  for (int i = 0; i < 2; ++i) {  // chosen, rejected
    const Tensor of_completions = allocate({rows / Size(2), vocabulary}, dtype, {&chosen_rule});
    allocate({rows / Size(2)}, dtype, {&chosen_rule});
  }
  allocate({pairs, logits.size(1) - Size(1)}, DType::int64, {&chosen_rule, "predictions"});
}

}  // namespace trainmem
