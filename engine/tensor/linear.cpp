// Matrix products. A product keeps each factor only if the other one wants a gradient.
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/selective.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

constexpr Rule linear_rule{"linear", "input of a linear layer: the gradient of its weight needs it",
                           "derivatives.yaml: mm, addmm", true};
constexpr Rule bmm_rule{"bmm", "factor of a matrix product: the gradient of the other factor needs it",
                        "derivatives.yaml: bmm, baddbmm", true};
constexpr Rule bias_rule{"bias gradient", "", "derivatives.yaml: addmm (self)"};

/// Formats under autocast are settled argument by argument, the last one first (autocast_mode.h: cached_cast in a
/// call's arguments, as the compiler evaluates them).
struct Factors {
  Tensor x;
  Tensor weight;
  Tensor bias;
};

Factors linear_factors(const Tensor& x, const Tensor& weight, const Tensor& bias) {  // F.linear(x, weight, bias)
  Factors factors;
  factors.bias = autocast_low(bias);
  factors.weight = autocast_low(weight);
  factors.x = autocast_low(x);
  return factors;
}

Factors addmm_factors(const Tensor& x, const Tensor& weight, const Tensor& bias) {  // torch.addmm(bias, x, weight)
  Factors factors;
  factors.weight = autocast_low(weight);
  factors.x = autocast_low(x);
  factors.bias = autocast_low(bias);
  return factors;
}

Size bytes_of(const Tensor& weight) { return weight.elements() * element_bytes(weight.dtype()); }

bool linear_keeps_input() {
  const OperationHooks* hooks = active_run().operation_hooks;
  return hooks != nullptr && hooks->linear_keeps_input();
}

/// Whether torch.matmul makes one product of rows, for which it copies what cannot be viewed so: where the weight wants
/// a gradient. Else each sequence is multiplied by the weight. pytorch aten/src/ATen/native/LinearAlgebra.cpp:
/// should_fold.
bool folds(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.requires_grad() || bias.defined()) return true;
  for (int i = 0; i + 2 < x.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (x->strides[at] != x->strides[at + 1] * x.size(i + 1)) return false;
  }
  return true;
}

/// The shape of a weight that maps in to out.
enum class WeightLies { out_in, in_out };

/// x (..., in) times a weight.
Tensor product(Factors factors, WeightLies lies, const char* role, bool keeps_frozen_input = false) {
  const Size out = factors.weight.size(lies == WeightLies::out_in ? 0 : 1);
  const Tensor bias = std::move(factors.bias);
  const Tensor weight = std::move(factors.weight);
  Tensor x = std::move(factors.x);
  Shape shape = x.shape();
  shape[-1] = out;
  const Size rows = x.elements() / x.size(-1);
  if (x.rank() != 2 && folds(x, weight, bias)) {
    const Shape folded{rows, x.size(-1)};
    x = reshape(std::move(x), folded);
  }
  const Ref<Node> node = begin_node(linear_rule, {&x, &weight, &bias});
  const bool keeps_x = wants(node, 1) || (node && keeps_frozen_input);
  if (keeps_x) keep(node, x);
  if (wants(node, 0)) keep(node, weight);
  const auto make = [&] {
    note_linear(Pass::forward, rows, weight.elements(), bytes_of(weight));
    return allocate({rows, out}, x.dtype(), {&linear_rule, role});
  };
  Tensor result = bias.defined() ? make() : selected_product(weight.shape(), make);
  if (node)
    node->backward = [rows, x_shape = x.shape(), weight_shape = weight.shape(), weight_bytes = bytes_of(weight),
                      biased = bias.defined(), keeps_x, transposed = lies == WeightLies::out_in](Backward& b) {
      const Tensor& gradient = b.gradient();
      note_linear_backward(rows, weight_shape.elements(), weight_bytes, b.wants(0), b.wants(1));
      const auto give_weight = [&] {
        if (!b.wants(1)) return;
        Tensor weight_gradient = allocate(weight_shape, gradient.dtype(), {&linear_rule, "weight gradient"});
        weight_gradient->is_view = transposed;  // F.linear multiplies with weight.t()
        b.give(1, std::move(weight_gradient));
      };
      {
        int next = 0;
        const Tensor kept_x = keeps_x ? b.kept(next++) : Tensor();
        const Tensor kept_weight = b.wants(0) ? b.kept(next++) : Tensor();
        // The generated backward goes by the arguments' names: mm (mat2, self), addmm (mat1, mat2, self).
        if (!biased) give_weight();
        if (b.wants(0)) b.give(0, allocate(x_shape, gradient.dtype(), {&linear_rule}));
        if (biased) give_weight();
      }
      // Of the bias it passes the gradient on; the engine sums it up afterwards (validate_outputs).
      if (b.wants(2)) b.give(2, allocate({gradient.size(1)}, gradient.dtype(), {&bias_rule}));
    };
  finish_node(node, result);
  x.reset();
  return shape.rank() == 2 ? result : view(std::move(result), shape);
}

}  // namespace

Tensor linear(Tensor argument, const Tensor& weight, const Tensor& bias, const char* role) {
  const Tensor x = std::move(argument);
  return product(linear_factors(x, weight, bias), WeightLies::out_in, role, linear_keeps_input());
}

Tensor conv1d(Tensor argument, const Tensor& weight, const Tensor& bias, const char* role) {
  const Tensor x = std::move(argument);
  return product(addmm_factors(x, weight, bias), WeightLies::in_out, role);
}

Tensor bmm(Tensor left_argument, Tensor right_argument, const char* role) {
  const Tensor left = std::move(left_argument);
  const Tensor right = std::move(right_argument);
  const Tensor b = autocast_low(right);
  const Tensor a = autocast_low(left);
  const Ref<Node> node = begin_node(bmm_rule, {&a, &b});
  if (wants(node, 0)) keep(node, b);
  if (wants(node, 1)) keep(node, a);
  note_products(Pass::forward, a.size(0), a.size(1), a.size(2), b.size(2));
  Tensor result = allocate({a.size(0), a.size(1), b.size(2)}, a.dtype(), {&bmm_rule, role});
  if (node)
    node->backward = [a_shape = a.shape(), b_shape = b.shape()](Backward& backward) {
      for (int i = 0; i < 2; ++i)
        if (backward.wants(i)) note_products(Pass::backward, a_shape[0], a_shape[1], a_shape[2], b_shape[2]);
      const DType dtype = backward.gradient().dtype();
      int next = 0;
      const Tensor kept_b = backward.wants(0) ? backward.kept(next++) : Tensor();
      const Tensor kept_a = backward.wants(1) ? backward.kept(next++) : Tensor();
      if (backward.wants(1)) backward.give(1, allocate(b_shape, dtype, {&bmm_rule}));
      if (backward.wants(0)) backward.give(0, allocate(a_shape, dtype, {&bmm_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor baddbmm(Tensor input, Tensor left, Tensor right, const char* role) {
  const Tensor added = autocast_low(std::move(input));  // wants no gradient and is not kept
  return bmm(std::move(left), std::move(right), role);
}

Tensor matmul(Tensor left_argument, Tensor right_argument, const char* role) {
  const Tensor left = std::move(left_argument);
  const Tensor right = std::move(right_argument);
  const Tensor cast_b = autocast_low(right);  // autocast holds its casts until the product is there
  const Tensor cast_a = autocast_low(left);
  Tensor b = cast_b;
  Tensor a = cast_a;
  if (a.rank() == 4 && a.size(1) != b.size(1)) {  // heads are broadcast
    const Shape a_heads{a.size(0), b.size(1), a.size(2), a.size(3)};
    const Shape b_heads{b.size(0), a.size(1), b.size(2), b.size(3)};
    if (a.size(1) == 1) {
      a = expand(std::move(a), a_heads);
    } else if (b.size(1) == 1) {
      b = expand(std::move(b), b_heads);
    }
  }
  const Size batch = a.elements() / (a.size(-1) * a.size(-2));
  Shape shape = a.shape();
  shape[-1] = b.size(-1);
  const Shape a_shape{batch, a.size(-2), a.size(-1)};
  const Shape b_shape{batch, b.size(-2), b.size(-1)};
  Tensor a3 = reshape(std::move(a), a_shape);
  Tensor b3 = reshape(std::move(b), b_shape);
  return view(bmm(std::move(a3), std::move(b3), role), shape);
}

}  // namespace trainmem
