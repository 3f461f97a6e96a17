#include "engine/blocks/transformers/chunks.h"

#include <utility>

#include "engine/tensor/autograd.h"
#include "engine/tensor/convolution.h"
#include "engine/tensor/ops.h"

namespace trainmem::transformers {

namespace {

constexpr Rule pad_rule{"pad", "", "derivatives.yaml: constant_pad_nd"};
constexpr Rule cumsum_rule{"cumsum", "", "derivatives.yaml: cumsum (cumsum_backward)"};

}  // namespace

Tensor padded(const Tensor& x, const Shape& shape) {
  const Ref<Node> node = begin_node(pad_rule, {&x});
  Tensor result = allocate(shape, x.dtype(), {&pad_rule});
  if (node)
    node->backward = [old = x.shape()](Backward& b) { b.give(0, allocate(old, b.gradient().dtype(), {&pad_rule})); };
  finish_node(node, result);
  return result;
}

Tensor cumsum(const Tensor& x) {
  const Ref<Node> node = begin_node(cumsum_rule, {&x});
  Tensor result = allocate(x.shape(), x.dtype(), {&cumsum_rule});
  if (node)
    node->backward = [](Backward& b) {
      const Shape& shape = b.gradient().shape();
      const DType dtype = b.gradient().dtype();
      const Tensor turned = allocate(shape, dtype, {&cumsum_rule});
      const Tensor sums = allocate(shape, dtype, {&cumsum_rule});
      b.give(0, allocate(shape, dtype, {&cumsum_rule}));
    };
  finish_node(node, result);
  return result;
}

// models/nemotron_h/modeling_nemotron_h.py, models/qwen3_next/modeling_qwen3_next.py: causal_conv1d_fn. It is given the
// weight without the dimension of one that a convolution has: a view, whose 16-bit copy autocast does not keep.
Tensor causal_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor result;
  {
    const Tensor cast = to(x, weight.dtype());
    result = slice(depthwise_conv1d(cast, view(weight, weight.shape()), bias), 2, 0, x.size(2));
  }
  return to(silu(std::move(result)), x.dtype());
}

}  // namespace trainmem::transformers
