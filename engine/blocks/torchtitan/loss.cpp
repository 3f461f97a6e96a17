#include "engine/blocks/torchtitan/loss.h"

#include <utility>
#include <vector>

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem::torchtitan {

namespace {

constexpr const char* file = "torchtitan components/loss.py: ChunkedLossWrapper";
constexpr Rule gradients_rule{"gradient of hidden states", "gradients of the parts, put together for the blocks", file};
constexpr Rule sum_rule{"gradient of hidden states in fp32", "", "torchtitan components/loss.py: GradAccumulator"};
constexpr Rule loss_rule{"loss", "", file};

/// Parts that begin a graph of their own.
std::vector<Tensor> leaves_of(const Tensor& hidden) {
  const Size tokens = hidden.size(1);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < num_chunks; ++i) {
    const Size begin = tokens * Size(i) / Size(num_chunks);
    Tensor part = detach(slice(detach(hidden), 1, begin, tokens * Size(i + 1) / Size(num_chunks)));
    part->requires_grad = true;
    parts.push_back(std::move(part));
  }
  return parts;
}

/// cross_entropy_loss of one part: of the logits in fp32.
Tensor loss_of(const Tensor& logits, bool compiled) {
  const Shape rows{logits.size(0) * logits.size(1), logits.size(2)};
  const Tensor labels = allocate_nothing({rows[0]}, DType::int64);  // a view
  if (compiled) return compiled_cross_entropy(view(logits, rows), labels);
  return cross_entropy(view(to(logits, DType::float32, "fp32 logits"), rows), labels);
}

}  // namespace

Tensor loss_of_parts(const Tensor& hidden, const HeadOfPart& head, bool compiled,
                     const std::function<void()>& end_parts) {
  std::vector<Tensor> parts = leaves_of(hidden);
  const Tensor sum = allocate(hidden.shape(), DType::float32, {&sum_rule});
  Tensor total = allocate({}, DType::float32, {&loss_rule});
  Tensor logits;  // those of the part before stay until there are new ones
  for (std::size_t i = 0; i < parts.size(); ++i) {
    logits = head(parts[i], i + 1 == parts.size());
    const Tensor loss = scalar_operation(loss_of(logits, compiled));
    total = allocate({}, DType::float32, {&loss_rule});
    run_backward(loss);
    const Tensor cast = to(parts[i]->grad, DType::float32);
    parts[i]->grad.reset();
    parts[i]->grad_fn = Ref<Node>();  // the accumulation node of a leaf holds the leaf
  }
  end_parts();
  const Tensor gradients = to(sum, hidden.dtype(), "gradient of hidden states");
  const Ref<Node> node = begin_node(gradients_rule, {&hidden});
  keep(node, gradients);
  Tensor result = detach(total);
  if (node) node->backward = [](Backward& b) { b.give(0, b.kept(0)); };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem::torchtitan
