// Pointwise operations of functions that are put together of pieces.
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule softplus_rule{"softplus", "input of softplus: its backward needs it", "derivatives.yaml: softplus"};
constexpr Rule exp_rule{"exp", "result of exp: its backward needs it", "derivatives.yaml: exp"};
constexpr Rule expm1_rule{"expm1", "result of expm1: its backward needs it",
                          "derivatives.yaml: expm1, grad * (result + 1)"};
constexpr Rule greater_rule{"gt", "", "derivatives.yaml: gt.Scalar"};
constexpr Rule minimum_rule{
    "minimum", "operands of a minimum: the gradient is zero where the other is smaller",
    "derivatives.yaml: minimum, at::where(self == other, grad / 2, grad).masked_fill_(self > other, 0)"};
constexpr Rule where_rule{"where", "condition: it says whose the gradient is", "derivatives.yaml: where.self"};

Tensor like(const Tensor& x, DType dtype, const Rule& rule) { return allocate_like(x, x.shape(), dtype, {&rule}); }

}  // namespace

Tensor softplus(Tensor argument) {
  const Tensor given = std::move(argument);
  const Tensor x = autocast_fp32(given);
  const Ref<Node> node = begin_node(softplus_rule, {&x});
  keep(node, x);
  Tensor result = like(x, x.dtype(), softplus_rule);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, like(kept, kept.dtype(), softplus_rule));
    };
  finish_node(node, result);
  return result;
}

Tensor exp(Tensor argument) {
  const Tensor given = std::move(argument);
  const Tensor x = autocast_fp32(given);
  const Ref<Node> node = begin_node(exp_rule, {&x});
  Tensor result = like(x, x.dtype(), exp_rule);
  keep(node, result);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, like(kept, kept.dtype(), exp_rule));
    };
  finish_node(node, result);
  return result;
}

Tensor expm1(Tensor argument) {
  const Tensor given = std::move(argument);
  const Tensor x = autocast_fp32(given);
  const Ref<Node> node = begin_node(expm1_rule, {&x});
  Tensor result = like(x, x.dtype(), expm1_rule);
  keep(node, result);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor exponential = like(kept, kept.dtype(), expm1_rule);
      b.give(0, like(kept, kept.dtype(), expm1_rule));
    };
  finish_node(node, result);
  return result;
}

Tensor greater_than_number(const Tensor& x) { return like(x, DType::boolean, greater_rule); }

Tensor minimum_with(Tensor argument, const Tensor& bound) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(minimum_rule, {&x});
  keep(node, x);
  keep(node, bound);
  Tensor result = like(x, x.dtype(), minimum_rule);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor kept_bound = b.kept(1);
      Tensor gradient;
      {
        const Tensor half = like(kept, b.gradient().dtype(), minimum_rule);
        const Tensor equal = like(kept, DType::boolean, minimum_rule);
        gradient = like(kept, b.gradient().dtype(), minimum_rule);
      }
      { const Tensor greater = like(kept, DType::boolean, minimum_rule); }
      b.give(0, std::move(gradient));
    };
  finish_node(node, result);
  return result;
}

Tensor where(const Tensor& condition, Tensor first, Tensor second) {
  const Tensor a = std::move(first);
  const Tensor b = std::move(second);
  const Ref<Node> node = begin_node(where_rule, {&a, &b});
  keep(node, condition);
  Tensor result = like(a, promote(a.dtype(), b.dtype()), where_rule);
  if (node)
    node->backward = [](Backward& backward) {
      const Tensor kept = backward.kept(0);
      const Tensor& gradient = backward.gradient();
      if (backward.wants(1)) backward.give(1, like(gradient, gradient.dtype(), where_rule));
      if (backward.wants(0)) backward.give(0, like(gradient, gradient.dtype(), where_rule));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
