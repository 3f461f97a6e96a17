// Loss parallel: pytorch torch/distributed/tensor/parallel/loss.py, line by line.
#include "engine/parallel/tensor.h"
#include "engine/tensor/autograd.h"
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

/// _MaskPartial._partition_value: labels of this GPU's part, and the mask of the others.
Tensor partition(const Size& rows, Tensor& mask) {
  const auto flags = [&] { return allocate({rows}, DType::boolean, {&nll_rule}); };
  {
    const Tensor below = flags();
    const Tensor above = flags();
    mask = flags();
  }
  const Tensor copy = allocate({rows}, DType::int64, {&nll_rule});
  return allocate({rows}, DType::int64, {&nll_rule});
}

Tensor gradient_of_logits(const Tensor& x, const Tensor& total) {
  const Size rows = x.size(0);
  const auto make = [&](const Shape& shape, DType dtype) { return allocate(shape, dtype, {&nll_rule}); };
  Tensor gradient = make({}, total.dtype());  // divided by the number of labels
  Tensor safe;
  {
    const Tensor valid = make({rows, 1}, DType::boolean);
    safe = make({rows, 1}, DType::int64);
  }
  const Tensor input = allocate(x.shape(), x.dtype(), {&nll_rule, "gradient of log-probabilities"});
  Tensor mask;
  const Tensor masked = partition(rows, mask);
  Tensor update;
  {
    const Tensor cast = make({rows}, x.dtype());
    update = make({rows}, x.dtype());
  }
  const Tensor range = make({rows}, DType::int64);
  {
    const Tensor valid = make({rows, 1}, DType::boolean);
    gradient = make({rows, 1}, x.dtype());
  }
  const Tensor probabilities = make(x.shape(), x.dtype());
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
  Tensor chosen;
  {
    Tensor mask;
    const Tensor safe = make({rows}, DType::int64);
    const Tensor masked = partition(rows, mask);
    chosen = make({rows, 1}, x.dtype());
    chosen = make({rows, 1}, x.dtype());  // all-reduced
    chosen = make({rows}, x.dtype());     // negated
    chosen = make({rows}, x.dtype());     // of valid labels
  }
  Tensor total;
  {
    const Tensor count = make({}, DType::int64);
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
