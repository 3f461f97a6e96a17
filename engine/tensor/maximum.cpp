#include "engine/tensor/maximum.h"

#include <utility>

#include "engine/tensor/ops.h"

namespace trainmem {

namespace {

constexpr Rule rule{"maximum", "input: where the number is larger, nothing is passed on", "derivatives.yaml: maximum"};

}  // namespace

Tensor at_least(Tensor argument) {
  const Tensor x = std::move(argument);
  const Tensor number = allocate({}, DType::float32, {&rule, "number"});
  const Ref<Node> node = begin_node(rule, {&x});
  keep(node, x);
  keep(node, number);
  Tensor result = allocate(x.shape(), x.dtype(), {&rule});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor other = b.kept(1);
      const DType dtype = b.gradient().dtype();
      const Tensor equal = allocate(kept.shape(), DType::boolean, {&rule});
      const Tensor half = allocate(kept.shape(), dtype, {&rule});
      Tensor gradient = allocate(kept.shape(), dtype, {&rule});
      const Tensor smaller = allocate(kept.shape(), DType::boolean, {&rule});
      b.give(0, std::move(gradient));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
