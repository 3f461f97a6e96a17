// Cross entropies that make their gradient in the forward: Liger-Kernel src/liger_kernel/ops.
#include <algorithm>
#include <bit>

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

constexpr Rule fused_rule{"fused cross entropy", "logits, overwritten by their gradient in the forward",
                          "Liger-Kernel src/liger_kernel/ops/cross_entropy.py"};
constexpr Rule fused_linear_rule{"fused linear cross entropy",
                                 "gradients made in the forward, until backward passes them on",
                                 "Liger-Kernel src/liger_kernel/ops/fused_linear_cross_entropy.py"};

}  // namespace

Tensor fused_cross_entropy(Tensor argument) {
  const Tensor logits = std::move(argument);
  const Ref<Node> node = begin_node(fused_rule, {&logits});
  keep(node, logits);
  const Tensor losses = allocate({logits.size(0)}, DType::float32, {&fused_rule, "losses"});
  Tensor loss = allocate({}, DType::float32, {&fused_rule, "loss"});
  if (node) node->backward = [](Backward& b) { b.give(0, b.kept(0)); };
  finish_node(node, loss);
  return loss;
}

Tensor fused_linear_cross_entropy(Tensor argument, const Tensor& given_weight) {
  const Tensor x = autocast_low(std::move(argument));
  const Tensor weight = autocast_low(given_weight);
  const Ref<Node> node = begin_node(fused_linear_rule, {&x, &weight});
  // Rows are taken in chunks so that a chunk's logits are about as large as the hidden states.
  const std::int64_t rows = x.size(0).value();
  const std::int64_t times = ceil_divide(weight.size(0), weight.size(1)).value();
  const auto wanted = static_cast<std::uint64_t>((rows + times - 1) / times);
  const Size chunk = std::min(static_cast<std::int64_t>(std::bit_ceil(wanted)), rows);
  const Tensor x_gradient = allocate(x.shape(), x.dtype(), {&fused_linear_rule, "gradient of hidden states"});
  Tensor weight_gradient;
  if (wants(node, 1))
    weight_gradient = allocate(weight.shape(), weight.dtype(), {&fused_linear_rule, "weight gradient"});
  keep(node, x_gradient);
  if (weight_gradient.defined()) keep(node, weight_gradient);
  const Tensor losses = allocate({x.size(0)}, DType::float32, {&fused_linear_rule, "losses"});
  // Logits and both gradients, all in forward; each chunk reads the weight, at least one pass over it is left.
  const Size weight_bytes = weight.elements() * element_bytes(weight.dtype());
  note_linear(Pass::forward, x.size(0), weight.elements(), weight_bytes);
  note_linear_backward(x.size(0), weight.elements(), weight_bytes, true, wants(node, 1));
  { const Tensor logits = allocate({chunk, weight.size(0)}, x.dtype(), {&fused_linear_rule, "logits of a chunk"}); }
  Tensor loss = allocate({}, DType::float32, {&fused_linear_rule, "loss"});
  if (node)
    node->backward = [](Backward& b) {
      if (b.wants(0)) b.give(0, b.kept(0));
      if (b.wants(1)) b.give(1, b.kept(1));
    };
  finish_node(node, loss);
  return loss;
}

}  // namespace trainmem
