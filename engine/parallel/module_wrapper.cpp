#include "engine/parallel/module_wrapper.h"

#include "engine/tensor/autograd.h"

namespace trainmem {

Tensor with_backward_hook(Tensor input, const Rule& rule, std::function<void(const Tensor& gradient)> act) {
  const Ref<Node> node = begin_node(rule, {&input});
  if (!node) return input;
  Tensor result = alias(input, input.shape(), input->strides);
  node->backward = [act = std::move(act)](Backward& b) {
    act(b.gradient());
    b.give(0, b.take_gradient());
  };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
