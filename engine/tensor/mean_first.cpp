#include "engine/tensor/mean_first.h"

#include <utility>

#include "engine/tensor/autograd.h"

namespace trainmem {

namespace {
constexpr Rule mean_rule{"mean", "", "derivatives.yaml: mean.dim (mean_backward)"};
}  // namespace

Tensor mean_first(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(mean_rule, {&x});
  Shape shape;
  for (int i = 1; i < x.rank(); ++i) shape.append(x.size(i));
  Tensor result = allocate(shape, x.dtype(), {&mean_rule});
  if (node)
    node->backward = [full = x.shape()](Backward& b) { b.give(0, allocate(full, b.gradient().dtype(), {&mean_rule})); };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
