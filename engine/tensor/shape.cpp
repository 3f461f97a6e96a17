// Views and copies: how a tensor's memory is seen through other shapes.
#include <algorithm>
#include <cassert>

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/token_steps.h"

namespace trainmem {

namespace {

constexpr Rule view_rule{"view", "", "derivatives.yaml: view, _unsafe_view"};
constexpr Rule transpose_rule{"transpose", "", "derivatives.yaml: transpose.int"};
constexpr Rule expand_rule{"expand", "", "derivatives.yaml: expand"};
constexpr Rule slice_rule{"slice", "", "derivatives.yaml: slice.Tensor (slice_backward)"};
constexpr Rule select_rule{"select", "", "derivatives.yaml: select.int (select_backward)"};
constexpr Rule index_rule{"index", "the index: the gradient is put where it points",
                          "derivatives.yaml: index.Tensor (index_backward)"};
constexpr Rule split_rule{"split", "", "derivatives.yaml: split.Tensor (split_backward)"};
constexpr Rule cat_rule{"cat", "", "derivatives.yaml: cat (cat_tensors_backward)"};
constexpr Rule clone_rule{"clone", "copy in contiguous memory", "derivatives.yaml: clone"};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Strides of `x` seen as `shape`; false if that needs a copy. at::detail::computeStride.
bool view_strides(const Tensor& x, const Shape& shape, Strides& strides) {
  const Shape& old = x.shape();
  if (x.elements() == 0) {
    strides = contiguous_strides(shape);
    return true;
  }
  int view_dimension = shape.rank() - 1;
  Size chunk_base = old.rank() > 0 ? x->strides[at(old.rank() - 1)] : Size(1);
  Size tensor_elements = 1;
  Size view_elements = 1;
  for (int d = old.rank() - 1; d >= 0; --d) {
    tensor_elements *= old[d];
    const bool chunk_ends = d == 0 || (old[d - 1] != 1 && x->strides[at(d - 1)] != tensor_elements * chunk_base);
    if (!chunk_ends) continue;
    while (view_dimension >= 0 && (view_elements < tensor_elements || shape[view_dimension] == 1)) {
      strides[at(view_dimension)] = view_elements * chunk_base;
      view_elements *= shape[view_dimension];
      --view_dimension;
    }
    if (view_elements != tensor_elements) return false;
    if (d > 0) {
      chunk_base = x->strides[at(d - 1)];
      tensor_elements = 1;
      view_elements = 1;
    }
  }
  return view_dimension == -1;
}

Tensor plain_reshape(Tensor x, const Shape& shape) {
  Strides strides{};
  if (view_strides(x, shape, strides)) return alias(x, shape, strides);
  Tensor copy = clone_contiguous(std::move(x));
  return alias(copy, shape, contiguous_strides(shape));
}

Tensor plain_transpose(const Tensor& x, int first, int second) {
  Shape shape = x.shape();
  Strides strides = x->strides;
  std::swap(shape[first], shape[second]);
  std::swap(strides[at(first)], strides[at(second)]);
  return alias(x, shape, strides);
}

}  // namespace

Tensor clone_contiguous(Tensor argument) {
  const Tensor x = std::move(argument);
  return allocate(x.shape(), x.dtype(), {&clone_rule});
}

Tensor view(Tensor argument, const Shape& shape) {
  const Tensor x = std::move(argument);
  Strides strides{};
  [[maybe_unused]] const bool possible = view_strides(x, shape, strides);
  assert(possible);
  const Ref<Node> node = begin_node(view_rule, {&x});
  Tensor result = alias(x, shape, strides);
  if (node) node->backward = [shape = x.shape()](Backward& b) { b.give(0, plain_reshape(b.take_gradient(), shape)); };
  finish_node(node, result);
  return result;
}

Tensor reshape(Tensor argument, const Shape& shape) {
  Tensor x = std::move(argument);
  Strides strides{};
  if (!view_strides(x, shape, strides)) x = contiguous(std::move(x));
  return view(std::move(x), shape);
}

Tensor contiguous(Tensor argument, const char* role) {
  const Tensor x = std::move(argument);
  if (x.is_contiguous()) return x;
  const Ref<Node> node = begin_node(clone_rule, {&x});
  Tensor result = allocate(x.shape(), x.dtype(), {&clone_rule, role});
  if (node) node->backward = [](Backward& b) { b.give(0, b.take_gradient()); };
  finish_node(node, result);
  return result;
}

Tensor clone(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(clone_rule, {&x});
  Tensor result = allocate_like(x, x.shape(), x.dtype(), {&clone_rule});
  if (node) node->backward = [](Backward& b) { b.give(0, b.take_gradient()); };
  finish_node(node, result);
  return result;
}

Tensor transpose(Tensor argument, int first, int second) {
  const Tensor x = std::move(argument);
  const int a = first < 0 ? x.rank() + first : first;
  const int c = second < 0 ? x.rank() + second : second;
  const Ref<Node> node = begin_node(transpose_rule, {&x});
  Tensor result = plain_transpose(x, a, c);
  if (node) node->backward = [a, c](Backward& b) { b.give(0, plain_transpose(b.take_gradient(), a, c)); };
  finish_node(node, result);
  return result;
}

Tensor expand(Tensor argument, const Shape& shape) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(expand_rule, {&x});
  Strides strides{};
  const int added = shape.rank() - x.rank();
  for (int i = 0; i < x.rank(); ++i)
    strides[at(i + added)] = x.size(i) == shape[i + added] ? x->strides[at(i)] : Size(0);
  Tensor result = alias(x, shape, strides);
  if (node)
    node->backward = [shape = x.shape()](Backward& b) {
      Tensor gradient = b.take_gradient();
      b.give(0, gradient.shape() == shape ? gradient : reduce_to(std::move(gradient), shape));
    };
  finish_node(node, result);
  return result;
}

Tensor unsqueeze(Tensor argument, int dimension) {
  const Tensor x = std::move(argument);
  Shape shape;
  for (int i = 0; i <= x.rank(); ++i) {
    if (i == dimension) shape.append(1);
    if (i < x.rank()) shape.append(x.size(i));
  }
  return view(x, shape);
}

namespace {

/// A part of `x` that is a view; its backward writes the gradient into zeros of the size of `x`.
Tensor part_of(const Tensor& x, const Shape& shape, const Strides& strides, const Rule& rule) {
  const Ref<Node> node = begin_node(rule, {&x});
  Tensor result = alias(x, shape, strides);
  if (node)
    node->backward = [shape = x.shape(), &rule](Backward& b) {
      b.give(0, allocate(shape, b.gradient().dtype(), {&rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace

Tensor slice(Tensor argument, int dimension, Size begin, Size end) {
  const Tensor x = std::move(argument);
  const int d = dimension < 0 ? x.rank() + dimension : dimension;
  if (begin == 0 && end == x.size(d)) return x;
  Shape shape = x.shape();
  shape[d] = end - begin;
  return part_of(x, shape, x->strides, slice_rule);
}

// aten/src/ATen/TensorIndexing.h, applySlice: up to PyTorch 2.6 a slice is left out only if its end is the dimension's
// size; a colon's end is the largest integer, so it is a slice of everything, whose backward writes into zeros.
// PyTorch 2.13 leaves it out, too.
Tensor colons(Tensor argument, int count) {
  Tensor x = std::move(argument);
  if (!active_run().settings.legacy_models) return x;
  for (int i = 0; i < count; ++i) x = whole_slice(x);
  return x;
}

Tensor every_second(Tensor argument, Size begin) {
  const Tensor x = std::move(argument);
  Shape shape = x.shape();
  Strides strides = x->strides;
  shape[-1] = ceil_divide(x.size(-1) - begin, 2);
  strides[at(x.rank() - 1)] *= 2;
  return part_of(x, shape, strides, slice_rule);
}

Tensor select(Tensor argument, int dimension, Size) {
  const Tensor x = std::move(argument);
  Shape shape;
  Strides strides{};
  for (int i = 0; i < x.rank(); ++i) {
    if (i == dimension) continue;
    strides[at(shape.rank())] = x->strides[at(i)];
    shape.append(x.size(i));
  }
  return part_of(x, shape, strides, select_rule);
}

Tensor index_one(Tensor argument, int dimension) {
  const Tensor x = std::move(argument);
  const int d = dimension < 0 ? x.rank() + dimension : dimension;
  const Tensor where = allocate({1}, DType::int64, {&index_rule});
  const Ref<Node> node = begin_node(index_rule, {&x});
  keep(node, where);
  Shape shape = x.shape();
  shape[d] = 1;
  Tensor result = allocate(shape, x.dtype(), {&index_rule});
  if (node)
    node->backward = [full = x.shape()](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(full, b.gradient().dtype(), {&index_rule}));
    };
  finish_node(node, result);
  return result;
}

std::vector<Tensor> split(Tensor argument, const std::vector<Size>& sizes, int dimension) {
  const Tensor x = std::move(argument);
  const int d = dimension < 0 ? x.rank() + dimension : dimension;
  const Ref<Node> node = begin_node(split_rule, {&x});
  std::vector<Tensor> results;
  for (const Size& size : sizes) {
    Shape shape = x.shape();
    shape[d] = size;
    results.push_back(alias(x, shape, x->strides));
    finish_node(node, results.back());
  }
  if (node)
    node->backward = [shape = x.shape(), results = node->results](Backward& b) {
      // Missing gradients are zeros of their part's size.
      DType dtype = DType::float32;
      for (std::size_t i = 0; i < results.size(); ++i)
        if (b.gradient(static_cast<int>(i)).defined()) dtype = b.gradient(static_cast<int>(i)).dtype();
      std::vector<Tensor> zeros;
      for (std::size_t i = 0; i < results.size(); ++i)
        if (!b.gradient(static_cast<int>(i)).defined())
          zeros.push_back(allocate(results[i].shape, dtype, {&split_rule}));
      b.give(0, allocate(shape, dtype, {&split_rule}));
    };
  return results;
}

Tensor concatenate(const std::vector<Tensor>& parts, int dimension, const char* role) {
  const int d = dimension < 0 ? parts[0].rank() + dimension : dimension;
  DType dtype = parts[0].dtype();
  for (const Tensor& part : parts) dtype = promote(dtype, part.dtype());  // inside the kernel, under autocast too
  const Ref<Node> node = begin_node(cat_rule, parts);
  Shape shape = parts[0].shape();
  for (std::size_t i = 1; i < parts.size(); ++i) shape[d] = shape[d] + parts[i].size(d);
  Tensor result = allocate(shape, dtype, {&cat_rule, role});
  if (node) {
    std::vector<Shape> shapes;
    for (const Tensor& part : parts) shapes.push_back(part.shape());
    node->backward = [shapes = std::move(shapes)](Backward& b) {
      for (std::size_t i = 0; i < shapes.size(); ++i)
        if (b.wants(static_cast<int>(i)))
          b.give(static_cast<int>(i), alias(b.gradient(), shapes[i], b.gradient()->strides));  // narrow
    };
  }
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
