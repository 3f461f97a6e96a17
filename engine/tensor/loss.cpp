// Cross entropy over the vocabulary: log_softmax, then negative log-likelihood.
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {
constexpr Rule log_softmax_rule{"log_softmax", "log-probabilities: the backward of the loss needs them",
                                "derivatives.yaml: _log_softmax"};
constexpr Rule nll_rule{"nll_loss", "log-probabilities: the backward of the loss needs them",
                        "derivatives.yaml: nll_loss_forward"};

}  // namespace

// aten/src/ATen/native/LossNLL.cpp, cross_entropy_loss: with a format given, which autocast leaves alone.
Tensor log_softmax(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(log_softmax_rule, {&x});
  Tensor result = allocate(x.shape(), x.dtype(), {&log_softmax_rule, "log-probabilities"});
  keep(node, result);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(kept.shape(), kept.dtype(), {&log_softmax_rule, "gradient of logits"}));
    };
  finish_node(node, result);
  return result;
}

namespace {

/// `shape` of the loss: none of a mean, or the rows.
Tensor negative_log_likelihood(Tensor argument, const Tensor& labels, const Shape& shape) {
  const Tensor given = std::move(argument);
  const Tensor x = autocast_fp32(given);
  const Ref<Node> node = begin_node(nll_rule, {&x});
  keep(node, x);
  keep(node, labels);
  Tensor loss = allocate(shape, x.dtype(), {&nll_rule, "loss"});
  const Tensor weight = allocate({}, x.dtype(), {&nll_rule, "total weight"});
  keep(node, weight);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor kept_labels = b.kept(1);
      const Tensor kept_weight = b.kept(2);
      b.give(0, allocate(kept.shape(), kept.dtype(), {&nll_rule, "gradient of log-probabilities"}));
    };
  finish_node(node, loss);
  return loss;
}

}  // namespace

Tensor cross_entropy(Tensor logits, const Tensor& labels) {
  return negative_log_likelihood(log_softmax(std::move(logits)), labels, {});
}

Tensor cross_entropy_of_rows(Tensor logits, const Tensor& labels) {
  const Size rows = logits.size(0);
  return negative_log_likelihood(log_softmax(std::move(logits)), labels, {rows});
}

}  // namespace trainmem
