#include "engine/tensor/write_columns.h"

#include <utility>

#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule empty_rule{"empty", "", "aten/src/ATen/native/TensorFactories.cpp: new_empty"};
constexpr Rule copy_rule{"copy into a slice", "",
                         "pytorch torch/csrc/autograd/functions/tensor.cpp: CopySlices::apply, CopyBackwards::apply"};

}  // namespace

Tensor empty_columns(const Shape& shape, DType dtype, const char* role) {
  return allocate(shape, dtype, {&empty_rule, role});
}

// CopySlices copies the whole gradient, so as to write zeros where the values went, and hands on a copy of that slice.
Tensor write_columns(Tensor argument, const Tensor& values) {
  const Tensor all = std::move(argument);
  const Ref<Node> node = begin_node(copy_rule, {&all, &values});
  Tensor result = alias(all, all.shape(), all->strides);
  if (node)
    node->backward = [shape = values.shape(), dtype = values.dtype()](Backward& b) {
      const Tensor& gradient = b.gradient();
      Tensor whole = allocate(gradient.shape(), gradient.dtype(), {&copy_rule});
      const Tensor slice = allocate(shape, gradient.dtype(), {&copy_rule});
      if (b.wants(0)) {
        const Tensor zeros = allocate(shape, gradient.dtype(), {&copy_rule});
      }
      if (b.wants(1)) b.give(1, slice.dtype() == dtype ? slice : cast_gradient(slice, dtype));
      if (b.wants(0)) b.give(0, std::move(whole));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
