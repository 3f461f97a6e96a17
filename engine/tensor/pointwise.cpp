// Pointwise operations and reductions over the last dimension.
#include <algorithm>

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule add_rule{"add", "", "derivatives.yaml: add.Tensor"};
constexpr Rule subtract_rule{"sub", "", "derivatives.yaml: sub.Tensor"};
constexpr Rule multiply_rule{"mul", "factor of a product: the gradient of the other factor needs it",
                             "derivatives.yaml: mul.Tensor (mul_tensor_backward)"};
// mul does not look at the conjugate bit, so that MathBitsFallback.h makes the conjugate a tensor.
constexpr Rule complex_rule{"complex mul",
                            "complex numbers by which channels turn: the gradient is turned back by them",
                            "derivatives.yaml: mul.Tensor (mul_tensor_backward), view_as_real"};
constexpr Rule scale_rule{"mul", "", "derivatives.yaml: mul.Scalar, div.Scalar"};
constexpr Rule negate_rule{"neg", "", "derivatives.yaml: neg"};
constexpr Rule power_rule{"pow", "base of a power: its backward needs it", "derivatives.yaml: pow.Tensor_Scalar"};
constexpr Rule rsqrt_rule{"rsqrt", "result of rsqrt: its backward needs it", "derivatives.yaml: rsqrt"};
constexpr Rule mean_rule{"mean", "", "derivatives.yaml: mean.dim"};
constexpr Rule silu_rule{"silu", "input of SiLU: its backward needs it", "derivatives.yaml: silu"};
constexpr Rule gelu_rule{"gelu", "input of GELU: its backward needs it", "derivatives.yaml: gelu"};
constexpr Rule relu_rule{"relu", "result of ReLU: its backward needs it",
                         "derivatives.yaml: relu (threshold_backward)"};
constexpr Rule tanh_rule{"tanh", "result of tanh: its backward needs it", "derivatives.yaml: tanh"};
constexpr Rule sigmoid_rule{"sigmoid", "result of the sigmoid: its backward needs it", "derivatives.yaml: sigmoid"};
constexpr Rule clamp_rule{"clamp", "input of clamp: its backward needs it", "derivatives.yaml: clamp"};
constexpr Rule dropout_rule{"dropout", "mask of dropout, 1 byte an element", "derivatives.yaml: native_dropout"};
constexpr Rule fill_rule{"masked_fill", "boolean mask: the gradient is zero where it is set",
                         "derivatives.yaml: masked_fill.Scalar"};
constexpr Rule sum_rule{"sum", "", "pytorch torch/csrc/autograd/input_metadata.cpp: reduce_grad (sum_to)"};
constexpr Rule meet_rule{"add", "", "pytorch torch/csrc/autograd/input_buffer.cpp: accumulate"};

Shape broadcast(const Tensor& a, const Tensor& b) {
  const Shape& longer = a.rank() >= b.rank() ? a.shape() : b.shape();
  const Shape& shorter = a.rank() >= b.rank() ? b.shape() : a.shape();
  Shape shape = longer;
  const int added = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i)
    if (shape[i + added] == 1) shape[i + added] = shorter[i];
  return shape;
}

/// Result of a pointwise operation on two tensors.
Tensor allocate_result(const Tensor& a, const Tensor& b, const Label& label) {
  const Shape shape = broadcast(a, b);
  const DType dtype = a.rank() == 0 ? b.dtype() : b.rank() == 0 ? a.dtype() : promote(a.dtype(), b.dtype());
  const Tensor& like = a.shape() == shape || !(b.shape() == shape) ? a : b;
  return allocate_like(like, shape, dtype, label);
}

/// A tensor of the shape, format and layout of `x`.
Tensor like(const Tensor& x, const Rule& rule, const char* role = nullptr) {
  return allocate_like(x, x.shape(), x.dtype(), {&rule, role});
}

/// What the backward of a one-argument operation needs.
enum class Keeps { nothing, argument, result };

/// A one-argument operation whose backward makes one tensor of the argument's size.
Tensor unary(Tensor argument, const Rule& rule, Keeps keeps, const char* role = nullptr) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(rule, {&x});
  if (keeps == Keeps::argument) keep(node, x);
  Tensor result = like(x, rule, role);
  if (keeps == Keeps::result) keep(node, result);
  if (node)
    node->backward = [&rule, keeps](Backward& b) {
      const Tensor kept = keeps == Keeps::nothing ? Tensor() : b.kept(0);
      b.give(0, like(b.gradient(), rule));
    };
  finish_node(node, result);
  return result;
}

/// Backward of a sum: the gradient itself, for both summands.
void pass_to_both(Backward& backward) {
  if (backward.wants(0)) backward.give(0, backward.gradient());
  if (backward.wants(1)) backward.give(1, backward.gradient());
}

}  // namespace

Tensor add(Tensor left, Tensor right, const char* role) {
  const Tensor a = std::move(left);
  const Tensor b = std::move(right);
  const Ref<Node> node = begin_node(add_rule, {&a, &b});
  Tensor result = allocate_result(a, b, {&add_rule, role});
  if (node) node->backward = pass_to_both;
  finish_node(node, result);
  return result;
}

Tensor add_in_place(Tensor left, Tensor right) {
  const Tensor a = std::move(left);
  const Tensor b = std::move(right);
  const Ref<Node> node = begin_node(add_rule, {&a, &b});
  Tensor result = alias(a, a.shape(), a->strides);
  result->is_view = a->is_view;
  if (node) node->backward = pass_to_both;
  finish_node(node, result);
  return result;
}

Tensor add_number(Tensor argument, const char* role) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(add_rule, {&x});
  Tensor result = like(x, add_rule, role);
  if (node) node->backward = [](Backward& b) { b.give(0, b.take_gradient()); };
  finish_node(node, result);
  return result;
}

Tensor subtract(Tensor left, Tensor right) {
  const Tensor a = std::move(left);
  const Tensor b = std::move(right);
  const Ref<Node> node = begin_node(subtract_rule, {&a, &b});
  Tensor result = allocate_result(a, b, {&subtract_rule});
  if (node)
    node->backward = [](Backward& backward) {
      const Tensor& gradient = backward.gradient();
      if (backward.wants(1)) backward.give(1, like(gradient, negate_rule));
      if (backward.wants(0)) backward.give(0, gradient);
    };
  finish_node(node, result);
  return result;
}

Tensor multiply(Tensor left, Tensor right, const char* role) {
  const Tensor a = std::move(left);
  const Tensor b = std::move(right);
  const Ref<Node> node = begin_node(multiply_rule, {&a, &b});
  if (wants(node, 0)) keep(node, b);
  if (wants(node, 1)) keep(node, a);
  Tensor result = allocate_result(a, b, {&multiply_rule, role});
  if (node)
    node->backward = [](Backward& backward) {
      const Tensor& gradient = backward.gradient();
      int next = 0;
      const Tensor kept_b = backward.wants(0) ? backward.kept(next++) : Tensor();
      const Tensor kept_a = backward.wants(1) ? backward.kept(next++) : Tensor();
      if (kept_a.defined()) backward.give(1, allocate_result(gradient, kept_a, {&multiply_rule}));
      if (kept_b.defined()) backward.give(0, allocate_result(gradient, kept_b, {&multiply_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor multiply_in_place(Tensor left, const Tensor& factor) {
  const Tensor a = std::move(left);
  const Ref<Node> node = begin_node(multiply_rule, {&a});
  keep(node, factor);
  Tensor result = alias(a, a.shape(), a->strides);
  result->is_view = a->is_view;
  if (node)
    node->backward = [](Backward& backward) {
      const Tensor kept = backward.kept(0);
      backward.give(0, like(backward.gradient(), multiply_rule));
    };
  finish_node(node, result);
  return result;
}

Tensor multiply_complex(Tensor pairs, const Tensor& table) {
  const Tensor x = std::move(pairs);
  const Ref<Node> node = begin_node(complex_rule, {&x});
  keep(node, table);
  Tensor result = allocate_result(x, table, {&complex_rule});
  if (node)
    node->backward = [](Backward& b) {
      Tensor gradient = b.take_gradient();
      if (!gradient.is_contiguous()) gradient = clone_contiguous(std::move(gradient));
      const Tensor conjugate = like(b.kept(0), complex_rule);
      b.give(0, allocate_result(gradient, conjugate, {&complex_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor multiply_number(Tensor x, const char* role) { return unary(std::move(x), scale_rule, Keeps::nothing, role); }
Tensor negate(Tensor x) { return unary(std::move(x), negate_rule, Keeps::nothing); }
Tensor silu(Tensor x) { return unary(std::move(x), silu_rule, Keeps::argument); }
Tensor gelu(Tensor x) { return unary(std::move(x), gelu_rule, Keeps::argument); }
Tensor relu(Tensor x) { return unary(std::move(x), relu_rule, Keeps::result); }
Tensor tanh(Tensor x) { return unary(std::move(x), tanh_rule, Keeps::result); }
Tensor sigmoid(Tensor x) { return unary(std::move(x), sigmoid_rule, Keeps::result); }

namespace {

/// pow_backward: grad * (exponent * self.pow(exponent - 1)), three tensors in a row.
Tensor power(Tensor argument) {
  const Tensor given = std::move(argument);
  const Tensor x = autocast_fp32(given);
  const Ref<Node> node = begin_node(power_rule, {&x});
  keep(node, x);
  Tensor result = like(x, power_rule);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor base = b.kept(0);
      const Tensor lower = like(base, power_rule);
      const Tensor scaled = like(lower, power_rule);
      b.give(0, like(scaled, power_rule));
    };
  finish_node(node, result);
  return result;
}

}  // namespace

Tensor square(Tensor x) { return power(std::move(x)); }
Tensor inverse_root(Tensor x) { return power(std::move(x)); }
Tensor cube(Tensor x) { return power(std::move(x)); }

Tensor rsqrt(Tensor argument) {
  const Tensor given = std::move(argument);
  const Tensor x = autocast_fp32(given);
  const Ref<Node> node = begin_node(rsqrt_rule, {&x});
  Tensor result = like(x, rsqrt_rule);
  keep(node, result);
  if (node)
    node->backward = [](Backward& b) {
      // -0.5 * grad * result.pow(3)
      const Tensor kept = b.kept(0);
      const Tensor scaled = like(kept, rsqrt_rule);
      const Tensor cubed = like(kept, rsqrt_rule);
      b.give(0, like(kept, rsqrt_rule));
    };
  finish_node(node, result);
  return result;
}

Tensor mean_last(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(mean_rule, {&x});
  Shape shape = x.shape();
  shape[-1] = 1;
  Tensor result = allocate(shape, x.dtype(), {&mean_rule});
  if (node)
    node->backward = [full = x.shape()](Backward& b) { b.give(0, allocate(full, b.gradient().dtype(), {&mean_rule})); };
  finish_node(node, result);
  return result;
}

namespace {

// FunctionsManual.cpp, clamp_backward: where((self >= min).logical_and_(self <= max), gradient, zero).
void clamp_backward(const Ref<Node>& node, int limits) {
  if (!node) return;
  node->backward = [limits](Backward& b) {
    const Tensor kept = b.kept(0);
    const Tensor zero = allocate({1}, b.gradient().dtype(), {&clamp_rule});
    const auto within = [&] { return allocate_like(kept, kept.shape(), DType::boolean, {&clamp_rule}); };
    const Tensor inside = within();
    const Tensor other = limits == 2 ? within() : Tensor();
    b.give(0, like(b.gradient(), clamp_rule));
  };
}

}  // namespace

Tensor clamp(Tensor argument, int limits) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(clamp_rule, {&x});
  keep(node, x);
  Tensor result = like(x, clamp_rule);
  clamp_backward(node, limits);
  finish_node(node, result);
  return result;
}

// What it was before is copied: derivatives.yaml has no clamp_ of its own, whose backward reads its input.
Tensor clamp_in_place(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(clamp_rule, {&x});
  if (node) keep(node, like(x, clamp_rule));
  Tensor result = alias(x, x.shape(), x->strides);
  result->is_view = x->is_view;
  clamp_backward(node, 2);
  finish_node(node, result);
  return result;
}

Tensor dropout(Tensor argument, double probability) {
  const Tensor x = std::move(argument);
  if (probability <= 0) return x;
  const Ref<Node> node = begin_node(dropout_rule, {&x});
  Tensor result = like(x, dropout_rule);
  const Tensor mask = allocate_like(x, x.shape(), DType::boolean, {&dropout_rule, "dropout mask"});
  keep(node, mask);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, like(b.gradient(), dropout_rule));
    };
  finish_node(node, result);
  return result;
}

Tensor masked_fill(Tensor argument, const Tensor& mask) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(fill_rule, {&x});
  keep(node, mask);
  Tensor result = like(x, fill_rule);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, like(b.gradient(), fill_rule));
    };
  finish_node(node, result);
  return result;
}

Tensor scalar_operation(Tensor x) { return unary(std::move(x), scale_rule, Keeps::nothing); }

Tensor sum_of_gradients(Tensor left, Tensor right) {
  const Tensor a = std::move(left);
  const Tensor b = std::move(right);
  return allocate_result(a, b, {&meet_rule});
}

Tensor reduce_to(Tensor argument, const Shape& shape) {
  const Tensor gradient = std::move(argument);
  return allocate(shape, gradient.dtype(), {&sum_rule});
}

}  // namespace trainmem
