#include "engine/blocks/policy_loss.h"

#include <utility>

#include "engine/tensor/ops.h"

namespace trainmem {

namespace {

constexpr const char* trainer = "TRL trainer/grpo_trainer.py: GRPOTrainer._compute_loss";
constexpr Rule temperature_rule{
    "div_", "",
    "pytorch torch/csrc/autograd/functions/tensor.cpp: CopySlices; TRL trainer/grpo_trainer.py, "
    "_get_per_token_logps_and_entropies: logits.div_(temperature)"};
constexpr Rule view_rule{"as_strided", "",
                         "derivatives.yaml: as_strided (as_strided_backward), of a view that was written in place"};
constexpr Rule minimum_rule{"minimum", "both operands: the gradient goes to the smaller", "derivatives.yaml: minimum"};
constexpr Rule mean_rule{"masked mean", "completion mask", trainer};

/// torch.min(a, b), of which both want a gradient.
Tensor smaller_of(const Tensor& a, const Tensor& b) {
  const Ref<Node> node = begin_node(minimum_rule, {&a, &b});
  keep(node, a);
  keep(node, b);
  Tensor result = allocate(a.shape(), a.dtype(), {&minimum_rule});
  if (node)
    node->backward = [](Backward& backward) {
      const Tensor kept = backward.kept(0);
      const Tensor other = backward.kept(1);
      for (int i = 0; i < 2; ++i) backward.give(i, allocate(kept.shape(), kept.dtype(), {&minimum_rule}));
    };
  finish_node(node, result);
  return result;
}

/// (x * mask).sum() / number
Tensor masked_mean(const Tensor& x, const Tensor& mask) {
  const Ref<Node> node = begin_node(mean_rule, {&x});
  keep(node, mask);
  { const Tensor product = allocate(x.shape(), x.dtype(), {&mean_rule}); }
  Tensor result = allocate({}, x.dtype(), {&mean_rule, "loss"});
  if (node)
    node->backward = [shape = x.shape(), dtype = x.dtype()](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(shape, dtype, {&mean_rule}));
    };
  finish_node(node, result);
  return result;
}

/// exp(reference - policy) - (reference - policy) - 1
Tensor divergence(const Tensor& reference, const Tensor& policy) {
  const Tensor ratio = exp(subtract(reference, policy));
  return add_number(subtract(ratio, subtract(reference, policy)));
}

}  // namespace

// What autograd makes of an operation in place on a view: its base has a node that copies the gradient of the whole,
// the part that was written, and writes back; the view another, which puts its gradient into zeros of the base's size.
Tensor divided_by_temperature(const Tensor& logits, const Size& tokens) {
  const Size sequences = logits.size(0);
  const Shape part{sequences, tokens, logits.size(2)};
  const Ref<Node> written = begin_node(temperature_rule, {&logits});
  const Tensor whole = alias(logits, logits.shape(), logits->strides);
  if (written)
    written->backward = [part](Backward& b) {
      const Tensor& gradient = b.gradient();
      Tensor result = allocate(gradient.shape(), gradient.dtype(), {&temperature_rule, "gradient of logits"});
      const Tensor copy = allocate(part, gradient.dtype(), {&temperature_rule});
      const Tensor divided = allocate(part, gradient.dtype(), {&temperature_rule});
      b.give(0, std::move(result));
    };
  finish_node(written, whole);
  const Ref<Node> seen = begin_node(view_rule, {&whole});
  Tensor result = alias(logits, part, logits->strides);
  if (seen)
    seen->backward = [shape = logits.shape()](Backward& b) {
      b.give(0, allocate(shape, b.gradient().dtype(), {&view_rule, "gradient of logits"}));
    };
  finish_node(seen, result);
  return result;
}

Tensor policy_loss(const Tensor& policy, const Tensor& old, const Tensor& reference, const Tensor& advantages,
                   const Tensor& completion_mask) {
  const Tensor ratio = exp(subtract(policy, old.defined() ? old : detach(policy)));
  const Tensor clipped = clamp(ratio);
  const Tensor gain = multiply(ratio, advantages);
  const Tensor clipped_gain = multiply(clipped, advantages);
  Tensor loss = negate(smaller_of(gain, clipped_gain));
  if (reference.defined()) loss = add(std::move(loss), multiply_number(divergence(reference, policy)));
  return masked_mean(loss, completion_mask);
}

}  // namespace trainmem
