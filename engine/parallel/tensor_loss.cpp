// Loss parallel: pytorch torch/distributed/tensor/parallel/loss.py, line by line.
#include "engine/parallel/tensor.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/dispatch_mode.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* loss_source = "pytorch torch/distributed/tensor/parallel/loss.py";
constexpr Rule log_softmax_rule{"log_softmax", "log-probabilities of this GPU's part of the vocabulary", loss_source};
constexpr Rule nll_rule{"nll_loss", "log-probabilities, labels and their number: the backward of the loss needs them",
                        loss_source};

Tensor log_softmax(const Tensor& x) {
  const Ref<Node> node = begin_node(log_softmax_rule, {&x});
  const Size rows = x.size(0);
  const auto column = [&] { return allocate({rows, 1}, x.dtype(), {&log_softmax_rule}); };
  const auto whole = [&](const char* role = nullptr) {
    return allocate(x.shape(), x.dtype(), {&log_softmax_rule, role});
  };
  Tensor maximum = column();
  maximum = column();  // all-reduced
  const Tensor shifted = whole();
  Tensor sum;
  {
    const Tensor exponentials = whole();
    sum = column();
  }
  sum = column();  // all-reduced
  const Tensor logarithm = column();
  Tensor result = whole("log-probabilities");
  keep(node, result);
  if (node)
    node->backward = [](Backward& b) {  // done by the backward of nll_loss
      const Tensor kept = b.kept(0);
      b.give(0, b.take_gradient());
    };
  finish_node(node, result);
  return result;
}

/// torch.where(target != ignore_index, ..., 0)
Tensor where_not_ignored(const Shape& shape, DType dtype) {
  const Tensor valid = allocate(shape, DType::boolean, {&nll_rule});
  return allocate(shape, dtype, {&nll_rule});
}

Tensor gradient_of_logits(const Tensor& x, const Tensor& total) {
  const Size rows = x.size(0);
  const auto make = [&](const Shape& shape, DType dtype) { return allocate(shape, dtype, {&nll_rule}); };
  Tensor gradient = make({}, total.dtype());  // divided by the number of labels
  const Tensor safe = where_not_ignored({rows, 1}, DType::int64);
  const Tensor input = allocate(x.shape(), x.dtype(), {&nll_rule, "gradient of log-probabilities"});
  Tensor mask;
  const Tensor masked = partition_ids({rows}, nll_rule, mask);
  Tensor update;
  {
    const Tensor cast = make({rows}, x.dtype());
    update = make({rows}, x.dtype());
  }
  const Tensor range = make({rows}, DType::int64);
  gradient = where_not_ignored({rows, 1}, x.dtype());
  Tensor probabilities = allocate(x.shape(), x.dtype(), {&nll_rule, "probabilities"});
  if (!DispatchMode::is_on())  // a recorder takes one from them in place
    probabilities = allocate(x.shape(), x.dtype(), {&nll_rule, "probabilities, less one at the labels"});
  return allocate(x.shape(), x.dtype(), {&nll_rule, "gradient of logits"});
}

Tensor negative_log_likelihood(const Tensor& x, const Tensor& labels) {
  const Ref<Node> node = begin_node(nll_rule, {&x});
  keep(node, x);
  keep(node, labels);
  const Size rows = x.size(0);
  const auto make = [&](const Shape& shape, DType dtype, const char* role = nullptr) {
    return allocate(shape, dtype, {&nll_rule, role});
  };
  const Tensor safe = where_not_ignored({rows}, DType::int64);
  Tensor mask;
  const Tensor masked = partition_ids({rows}, nll_rule, mask);
  const Tensor chosen = make({rows, 1}, x.dtype());
  mask = Tensor();  // its part is applied
  const Tensor reduced = make({rows, 1}, x.dtype());
  Tensor negated = make({rows}, x.dtype());
  const Tensor losses = where_not_ignored({rows}, x.dtype());
  negated = Tensor();
  Tensor total;
  {
    Tensor valid = make({rows}, DType::boolean);
    const Tensor count = make({}, DType::int64);
    valid = Tensor();
    total = make({}, x.dtype(), "total weight");
  }
  keep(node, total);
  const Tensor sum = make({}, x.dtype());
  Tensor loss = make({}, x.dtype(), "loss");
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor kept_labels = b.kept(1);
      const Tensor kept_total = b.kept(2);
      b.give(0, gradient_of_logits(kept, kept_total));
    };
  finish_node(node, loss);
  return loss;
}

}  // namespace

Tensor vocabulary_cross_entropy(Tensor argument, const Tensor& labels) {
  const Tensor logits = std::move(argument);
  return negative_log_likelihood(log_softmax(logits), labels);
}

}  // namespace trainmem
