#include "engine/parallel/module_wrapper.h"

#include "engine/tensor/autograd.h"

namespace trainmem {

namespace {
thread_local ModuleWrapper* of_adapters = nullptr;
}  // namespace

WrapsAdapters::WrapsAdapters(ModuleWrapper* wrapper) : previous_(of_adapters) { of_adapters = wrapper; }
WrapsAdapters::~WrapsAdapters() { of_adapters = previous_; }
ModuleWrapper* WrapsAdapters::wrapper() { return of_adapters; }

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
