#include "engine/tensor/logsumexp.h"

#include <utility>

#include "engine/tensor/ops.h"

namespace trainmem {

namespace {

constexpr Rule rule{"logsumexp", "input and result: the gradient is that of their difference's exponential",
                    "derivatives.yaml: logsumexp (logsumexp_backward)"};
constexpr Rule inner_rule{
    "logsumexp", "", "pytorch aten/src/ATen/native/ReduceOps.cpp: logsumexp_out_impl, which is made of operations"};

}  // namespace

Tensor logsumexp(Tensor argument) {
  const Tensor x = autocast_fp32(std::move(argument));
  const Ref<Node> node = begin_node(rule, {&x});
  keep(node, x);
  Shape shape;
  for (int i = 0; i + 1 < x.rank(); ++i) shape.append(x.size(i));
  Tensor result;
  {
    const Tensor largest = allocate(shape, x.dtype(), {&inner_rule, "largest"});
    {
      const Tensor absolute = allocate(shape, x.dtype(), {&inner_rule});
      const Tensor infinite = allocate(shape, DType::boolean, {&inner_rule});
    }
    const Tensor shifted = allocate(x.shape(), x.dtype(), {&inner_rule, "exponentials"});
    result = allocate(shape, x.dtype(), {&rule});
  }
  keep(node, result);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor sums = b.kept(1);
      const Tensor difference = allocate(kept.shape(), kept.dtype(), {&rule});
      const Tensor exponential = allocate(kept.shape(), kept.dtype(), {&rule});
      b.give(0, allocate(kept.shape(), kept.dtype(), {&rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
