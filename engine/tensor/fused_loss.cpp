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

namespace {

/// Liger's loop over chunks of the rows. A chunk's logits and their gradient go when the next one's take their names.
class FusedLinear {
 public:
  FusedLinear(const Tensor& x, const Tensor& weight)
      : x_(x),
        weight_(weight),
        low_(active_run().autocast.enabled ? active_run().autocast.dtype : x.dtype()),
        old_(active_run().settings.legacy_models) {
    // Chunks are so long that a chunk's logits are about as large as the hidden states.
    const std::int64_t rows = x.size(0).value();
    const std::int64_t times = ceil_divide(weight.size(0), weight.size(1)).value();
    const auto wanted = static_cast<std::uint64_t>((rows + times - 1) / times);
    const auto chunk = static_cast<std::int64_t>(std::bit_ceil(wanted));
    chunk_ = std::min(chunk, rows);
    several_ = chunk < rows;
  }

  /// Two chunks stand for any number.
  void run(const Tensor& weight_gradient) {
    // In a function of its own autograd sees nothing.
    const Set<bool> no_grad(active_run().grad_enabled, false);
    for (int i = 0; i < (several_ ? 2 : 1); ++i) {
      make_logits();
      if (old_)
        old_gradient();
      else
        gradient_ = logits_;
      {
        const Tensor cast = autocast_low(weight_);
        const Tensor of_x = temporary({chunk_, x_.size(1)}, low_, "gradient of a chunk's hidden states");
      }
      if (weight_gradient.defined()) add_to(weight_gradient);
    }
  }

 private:
  static Tensor temporary(const Shape& shape, DType dtype, const char* role) {
    return allocate(shape, dtype, {&fused_linear_rule, role});
  }
  Tensor rows_in_low() const {
    return x_.dtype() == low_ ? Tensor() : temporary({chunk_, x_.size(1)}, low_, "hidden states of a chunk");
  }
  Tensor logits(DType dtype, const char* role) const { return temporary({chunk_, weight_.size(0)}, dtype, role); }

  void make_logits() {
    const Tensor rows = rows_in_low();
    Tensor transposed;  // a view, which autocast's cache does not take
    if (weight_.dtype() != low_) transposed = temporary(weight_.shape(), low_, "16-bit copy of the head");
    logits_ = logits(low_, "logits of a chunk");
  }

  /// Liger-Kernel 0.4: the loss in fp32, its gradient scaled by the chunk's share of the tokens.
  void old_gradient() {
    logits_ = logits(DType::float32, "fp32 logits of a chunk");
    logits_ = logits(low_, "gradient of a chunk's logits");
    gradient_ = logits(low_, "scaled gradient of a chunk's logits");
  }

  /// grad_weight += torch.mm(...).float(); fp32 ones take the product's sum themselves (torch.addmm), as all did
  /// before.
  void add_to(const Tensor& weight_gradient) const {
    const Tensor rows = rows_in_low();
    if (old_ || (weight_gradient.dtype() == DType::float32 && is_half(low_))) return;
    Tensor product = temporary(weight_.shape(), low_, "product for the head's gradient");
    const Tensor upcast = low_ == DType::float32
                              ? std::move(product)
                              : temporary(weight_.shape(), DType::float32, "fp32 product for the head's gradient");
  }

  const Tensor& x_;
  const Tensor& weight_;
  const DType low_;
  const bool old_;
  Size chunk_;
  bool several_ = false;
  Tensor logits_;
  Tensor gradient_;  ///< of the logits
};

}  // namespace

Tensor fused_linear_cross_entropy(Tensor argument, const Tensor& weight) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(fused_linear_rule, {&x, &weight});
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
  FusedLinear(x, weight).run(weight_gradient);
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
