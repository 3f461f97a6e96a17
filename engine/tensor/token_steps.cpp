#include "engine/tensor/token_steps.h"

#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule slice_rule{"slice", "", "derivatives.yaml: slice.Tensor (slice_backward)"};

}  // namespace

Tensor whole_slice(const Tensor& x) {
  const Ref<Node> node = begin_node(slice_rule, {&x});
  Tensor result = alias(x, x.shape(), x->strides);
  if (node)
    node->backward = [](Backward& b) {
      b.give(0, allocate(b.gradient().shape(), b.gradient().dtype(), {&slice_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor at_token(const Tensor& x) { return select(whole_slice(x), 1, 0); }

}  // namespace trainmem
