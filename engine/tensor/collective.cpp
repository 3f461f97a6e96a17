#include "engine/tensor/collective.h"

#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* source = "pytorch torch/distributed/_functional_collectives.py";
constexpr Rule reduce_rule{"all-reduce", "", source};
constexpr Rule gather_rule{"all-gather", "", source};
constexpr Rule scatter_rule{"reduce-scatter", "", source};

Tensor reduced(const Tensor& x) { return allocate(x.shape(), x.dtype(), {&reduce_rule}); }

/// all_gather_tensor: gathered along the first dimension, then laid side by side.
Tensor gathered(const Tensor& x, int dimension, const Size& group) {
  Shape whole = x.shape();
  whole[dimension] = whole[dimension] * group;
  const Tensor parts = allocate(whole, x.dtype(), {&gather_rule});
  if (dimension == 0) return parts;
  return allocate(whole, x.dtype(), {&gather_rule, "gathered"});
}

/// reduce_scatter_tensor: the parts are laid one after another first.
Tensor scattered(const Tensor& x, int dimension, const Size& group) {
  Shape part = x.shape();
  part[dimension] = part[dimension] / group;
  Tensor parts;
  if (dimension != 0) parts = allocate(x.shape(), x.dtype(), {&scatter_rule});
  return allocate(part, x.dtype(), {&scatter_rule, "scattered"});
}

}  // namespace

Tensor all_reduce(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(reduce_rule, {&x});
  Tensor result = reduced(x);
  if (node) node->backward = [](Backward& b) { b.give(0, b.take_gradient()); };
  finish_node(node, result);
  return result;
}

Tensor replicate(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(reduce_rule, {&x});
  Tensor result = alias(x, x.shape(), x->strides);
  if (node) node->backward = [](Backward& b) { b.give(0, reduced(b.gradient())); };
  finish_node(node, result);
  return result;
}

Tensor all_gather(Tensor argument, int dimension, Size group) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(gather_rule, {&x});
  Tensor result = gathered(x, dimension, group);
  if (node) node->backward = [dimension, group](Backward& b) { b.give(0, scattered(b.gradient(), dimension, group)); };
  finish_node(node, result);
  return result;
}

Tensor reduce_scatter(Tensor argument, int dimension, Size group) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(scatter_rule, {&x});
  Tensor result = scattered(x, dimension, group);
  if (node) node->backward = [dimension, group](Backward& b) { b.give(0, gathered(b.gradient(), dimension, group)); };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
