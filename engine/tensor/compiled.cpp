// What torch.compile makes of pointwise chains: each is one kernel that allocates only its result, keeps its inputs and
// computes the rest again in backward.
//
// A Llama block compiled so keeps its input and the residual stream after attention, both norms' results and 1/rms,
// turned query and key, value, attention's output and log-sum-exp, gate, up and their product. Under autocast it keeps
// the 16-bit copies of its weights, too, and of the fp32 stream after attention the 16-bit summand: held against
// recorded partitions in tests/traces/partitions/.
// Sources: pytorch torch/_functorch/partitioners.py (min_cut_rematerialization_partition), torch/_inductor/scheduler.py
// (a kernel writes over an input that is used for the last time).
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* source = "pytorch torch/_functorch/partitioners.py: min_cut_rematerialization_partition";
constexpr Rule norm_rule{"compiled RMSNorm", "input and 1/rms of an RMS norm: its backward needs them", source};
constexpr Rule layer_norm_rule{"compiled layer norm", "input, mean and 1/std of a layer norm: its backward needs them",
                               source};
constexpr Rule activation_rule{"compiled activation", "input of the activation: its backward needs it", source};
constexpr Rule sum_rule{"compiled residual sum", "mask of dropout, 1 byte an element", source};
constexpr Rule product_rule{"compiled gated product", "gate and up: the activation is computed again in backward",
                            source};
constexpr Rule in_place_product_rule{"fused gated product", "gate and up: backward writes their gradients over them",
                                     "Liger-Kernel src/liger_kernel/ops/swiglu.py: LigerSiLUMulFunction"};
constexpr Rule rotary_rule{"compiled rotary embedding", "", source};
constexpr Rule loss_rule{"compiled cross entropy", "logits: their softmax is computed again in backward", source};

struct Vector {
  Shape shape;
  DType dtype = DType::float32;
};

Vector vector_of(const Tensor& weight) { return weight.defined() ? Vector{weight.shape(), weight.dtype()} : Vector(); }

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

/// The norm of `x` in the format that its reader, a matrix product, computes in: the cast is a part of the kernel.
Tensor norm_of(const Tensor& x, const Tensor& weight, const Tensor& bias, const Rule& rule,
               std::initializer_list<const char*> statistics) {
  const Ref<Node> node = begin_node(rule, {&x, &weight, &bias});
  keep(node, x);
  if (weight.defined()) keep(node, weight);
  const Autocast& autocast = active_run().autocast;
  Tensor result = allocate_like(x, x.shape(), autocast.enabled ? autocast.dtype : x.dtype(), {&rule});
  Shape rows = x.shape();
  rows[-1] = 1;
  for (const char* name : statistics) keep(node, allocate(rows, DType::float32, {&rule, name}));
  if (node)
    node->backward = [&rule, shape = x.shape(), dtype = x.dtype(), vector = vector_of(weight)](Backward& b) {
      if (b.wants(1)) b.give(1, allocate(vector.shape, vector.dtype, {&rule, "weight gradient"}));
      if (b.wants(2)) b.give(2, allocate(vector.shape, vector.dtype, {&rule, "bias gradient"}));
      if (!b.wants(0)) return;
      const bool in_place = b.gradient().dtype() == dtype;
      b.give(0, in_place ? b.take_gradient() : allocate(shape, dtype, {&rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace

Tensor compiled_rms_norm(Tensor argument, const Tensor& weight) {
  const Tensor x = std::move(argument);
  return norm_of(x, weight, {}, norm_rule, {"1/rms"});
}

Tensor compiled_layer_norm(Tensor argument, const Tensor& weight, const Tensor& bias) {
  const Tensor x = std::move(argument);
  return norm_of(x, weight, bias, layer_norm_rule, {"mean", "1/std"});
}

Tensor compiled_activation(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(activation_rule, {&x});
  keep(node, x);
  Tensor result = allocate_like(x, x.shape(), x.dtype(), {&activation_rule});
  if (node) node->backward = [](Backward& b) { b.give(0, b.take_gradient()); };
  finish_node(node, result);
  return result;
}

Tensor compiled_residual_sum(Tensor residual_argument, Tensor branch_argument, double dropout, bool written) {
  const Tensor residual = std::move(residual_argument);
  const Tensor branch = std::move(branch_argument);
  const Ref<Node> node = begin_node(sum_rule, {&residual, &branch});
  if (dropout > 0) keep(node, allocate(branch.shape(), DType::boolean, {&sum_rule, "dropout mask"}));
  const DType dtype = promote(residual.dtype(), branch.dtype());
  Tensor result = dtype == branch.dtype() || !written ? alias(branch, branch.shape(), branch->strides)
                                                      : allocate(branch.shape(), dtype, {&sum_rule});
  result->dtype = dtype;
  if (node)
    node->backward = [shape = branch.shape(), dtype = branch.dtype(), drops = dropout > 0](Backward& b) {
      const Tensor& gradient = b.gradient();
      if (drops) {
        const Tensor mask = b.kept(0);
        if (b.wants(1)) b.give(1, allocate(shape, dtype, {&sum_rule}));
      } else if (b.wants(1)) {
        b.give(1, gradient);
      }
      if (b.wants(0)) b.give(0, gradient);
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
