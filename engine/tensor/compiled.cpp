// What torch.compile makes of pointwise chains: each is one kernel that allocates only its result, keeps its inputs and
// computes the rest again in backward.
//
// A Llama block compiled so keeps its input and the residual stream after attention, both norms' results and 1/rms,
// turned query and key, value, attention's output and log-sum-exp, gate, up and their product: held against recorded
// partitions in tests/traces/compiled_blocks.json.
// Sources: pytorch torch/_functorch/partitioners.py (min_cut_rematerialization_partition), torch/_inductor/scheduler.py
// (a kernel writes over an input that is used for the last time).
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* source = "pytorch torch/_functorch/partitioners.py: min_cut_rematerialization_partition";
constexpr Rule norm_rule{"compiled RMSNorm", "input and 1/rms of an RMS norm: its backward needs them", source};
constexpr Rule product_rule{"compiled gated product", "gate and up: the activation is computed again in backward",
                            source};
constexpr Rule in_place_product_rule{"fused gated product", "gate and up: backward writes their gradients over them",
                                     "Liger-Kernel src/liger_kernel/ops/swiglu.py: LigerSiLUMulFunction"};
constexpr Rule rotary_rule{"compiled rotary embedding", "", source};
constexpr Rule loss_rule{"compiled cross entropy", "logits: their softmax is computed again in backward", source};

/// act(gate) * up. `in_place`: backward writes both gradients over what was kept, else the gate's over the one that
/// comes in.
Tensor product_of(const Tensor& gate, const Tensor& up, const Rule& rule, bool in_place) {
  const Ref<Node> node = begin_node(rule, {&gate, &up});
  keep(node, gate);
  keep(node, up);
  Tensor result = allocate(gate.shape(), gate.dtype(), {&rule});
  if (node)
    node->backward = [&rule, in_place](Backward& b) {
      const Tensor kept_gate = b.kept(0);
      const Tensor kept_up = b.kept(1);
      const Tensor incoming = b.take_gradient();
      if (b.wants(1)) b.give(1, in_place ? kept_up : allocate(kept_up.shape(), kept_up.dtype(), {&rule}));
      if (b.wants(0)) b.give(0, in_place ? kept_gate : incoming);
    };
  finish_node(node, result);
  return result;
}

}  // namespace

Tensor compiled_rms_norm(Tensor argument, const Tensor& weight) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(norm_rule, {&x, &weight});
  keep(node, x);
  keep(node, weight);
  Tensor result = allocate_like(x, x.shape(), x.dtype(), {&norm_rule});
  Shape rows = x.shape();
  rows[-1] = 1;
  keep(node, allocate(rows, DType::float32, {&norm_rule, "1/rms"}));
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept_weight = b.kept(1);
      if (b.wants(1)) b.give(1, allocate(kept_weight.shape(), kept_weight.dtype(), {&norm_rule, "weight gradient"}));
      if (b.wants(0)) b.give(0, b.take_gradient());
    };
  finish_node(node, result);
  return result;
}

Tensor compiled_gated_product(Tensor gate, Tensor up) {
  const Tensor kept_gate = std::move(gate);
  const Tensor kept_up = std::move(up);
  return product_of(kept_gate, kept_up, product_rule, false);
}

Tensor in_place_gated_product(Tensor gate, Tensor up) {
  const Tensor kept_gate = std::move(gate);
  const Tensor kept_up = std::move(up);
  return product_of(kept_gate, kept_up, in_place_product_rule, true);
}

Tensor compiled_rotary(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(rotary_rule, {&x});
  Tensor result = allocate_like(x, x.shape(), x.dtype(), {&rotary_rule});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor& gradient = b.gradient();
      b.give(0, allocate_like(gradient, gradient.shape(), gradient.dtype(), {&rotary_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor compiled_cross_entropy(Tensor argument, const Tensor& labels) {
  const Tensor logits = std::move(argument);
  const Ref<Node> node = begin_node(loss_rule, {&logits});
  keep(node, logits);
  keep(node, labels);
  const Size rows = logits.elements() / logits.size(-1);
  keep(node, allocate({rows, 1}, DType::float32, {&loss_rule, "maxima of the logits"}));
  keep(node, allocate({rows, 1}, DType::float32, {&loss_rule, "logarithms of the sums"}));
  Tensor loss = allocate({}, DType::float32, {&loss_rule, "loss"});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(kept.shape(), kept.dtype(), {&loss_rule, "gradient of logits"}));
    };
  finish_node(node, loss);
  return loss;
}

}  // namespace trainmem
