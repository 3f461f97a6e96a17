// Routing of tokens to experts: choices, rows gathered by index, sums, and matrix products by groups of rows.
#include <cmath>

#include "engine/tensor/dispatch_mode.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/selective.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

constexpr Rule top_k_rule{"topk", "indices of the chosen: the gradient is put where they point",
                          "derivatives.yaml: topk (value_selecting_reduction_backward)"};
constexpr Rule sort_rule{"sort", "", "pytorch aten/src/ATen/native/Sorting.cpp"};
constexpr Rule index_rule{"index", "the index: the gradient is put where it points",
                          "derivatives.yaml: index.Tensor (index_backward)"};
constexpr Rule gather_rule{"gather",
                           "the index, where the gradient is put, and what it was gathered from, for its size",
                           "derivatives.yaml: gather (gather_backward)"};
constexpr Rule put_rule{"index_put", "where each row goes: its gradient is taken from there",
                        "derivatives.yaml: index_put_ (values)"};
constexpr Rule scatter_add_rule{"scatter add", "where each row goes: its gradient is taken from there",
                                "derivatives.yaml: scatter_add"};
constexpr Rule sum_rule{"sum", "", "derivatives.yaml: sum.dim_IntList"};
constexpr Rule divide_rule{"div", "dividend, as it was before, and divisor: each other's gradient needs them",
                           "derivatives.yaml: div.Tensor"};
constexpr Rule grouped_rule{"grouped linear",
                            "tokens of the experts and how many each has: the gradient of the weights needs them",
                            "derivatives.yaml: _grouped_mm"};

/// A gradient written into zeros: in place, but under a dispatch mode into a copy of them. FunctionsManual.cpp:
/// index_backward, value_selecting_reduction_backward; ATen/native/TensorAdvancedIndexing.cpp: gather_backward.
Tensor written_into_zeros(const Shape& shape, DType dtype, const Rule& rule) {
  Tensor zeros = allocate(shape, dtype, {&rule});
  return DispatchMode::is_on() ? allocate(shape, dtype, {&rule}) : zeros;
}

/// What `indices` point to in `x`, or where they send it. The backward writes a gradient of the whole `x`.
Tensor by_index(const Tensor& x, const Tensor& indices, const Shape& shape, const Rule& rule, const char* role) {
  const Ref<Node> node = begin_node(rule, {&x});
  keep(node, indices);
  Tensor result = allocate(shape, x.dtype(), {&rule, role});
  if (node)
    node->backward = [full = x.shape(), &rule](Backward& b) {
      const Tensor kept = b.kept(0);
      const DType dtype = b.gradient().dtype();
      const bool into_zeros = &rule == &index_rule || &rule == &gather_rule;
      b.give(0, into_zeros ? written_into_zeros(full, dtype, rule) : allocate(full, dtype, {&rule}));
    };
  finish_node(node, result);
  return result;
}

Shape with_rows(Shape shape, Size rows) {
  shape[0] = rows;
  return shape;
}

}  // namespace

Chosen top_k(Tensor argument, Size k) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(top_k_rule, {&x});
  Shape shape = x.shape();
  shape[-1] = k;
  std::vector<Tensor> results = selected_results([&] {
    Tensor values = allocate(shape, x.dtype(), {&top_k_rule, "chosen scores"});
    Tensor indices = allocate(shape, DType::int64, {&top_k_rule, "chosen experts"});
    return std::vector<Tensor>{std::move(values), std::move(indices)};
  });
  Chosen result{std::move(results[0]), std::move(results[1])};
  keep(node, result.indices);
  if (node)
    node->backward = [full = x.shape()](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, written_into_zeros(full, b.gradient().dtype(), top_k_rule));
    };
  finish_node(node, result.values);
  return result;
}

Chosen sort(const Tensor& x, const char* role) {
  Chosen result;
  result.values = allocate(x.shape(), x.dtype(), {&sort_rule});
  result.indices = allocate(x.shape(), DType::int64, {&sort_rule, role});
  return result;
}

Tensor index_rows(Tensor argument, const Tensor& indices, const char* role) {
  const Tensor x = std::move(argument);
  return by_index(x, indices, with_rows(x.shape(), indices.size(0)), index_rule, role);
}

Tensor gather(Tensor argument, const Tensor& indices) {
  const Tensor x = std::move(argument);
  Tensor result = by_index(x, indices, indices.shape(), gather_rule, "chosen scores");
  keep(result->grad_fn, x);
  return result;
}

Tensor put_rows(Tensor argument, const Tensor& indices, const char* role) {
  const Tensor x = std::move(argument);
  return by_index(x, indices, x.shape(), put_rule, role);
}

Tensor scatter_add_rows(Tensor argument, const Tensor& indices, Size rows) {
  const Tensor x = std::move(argument);
  return by_index(x, indices, with_rows(x.shape(), rows), scatter_add_rule, nullptr);
}

Tensor sum(Tensor argument, int dimension, bool keep_dimension) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(sum_rule, {&x});
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != dimension) shape.append(x.size(i));
    if (i == dimension && keep_dimension) shape.append(1);
  }
  Tensor result = allocate(shape, x.dtype(), {&sum_rule});
  if (node)
    node->backward = [full = x.shape(), dimension, keep_dimension](Backward& b) {  // expanded: a view
      const Tensor gradient = b.take_gradient();
      Strides strides{};
      for (int i = 0, from = 0; i < full.rank(); ++i) {
        if (i == dimension) {
          if (keep_dimension) ++from;
          continue;
        }
        strides[static_cast<std::size_t>(i)] = gradient->strides[static_cast<std::size_t>(from++)];
      }
      b.give(0, alias(gradient, full, strides));
    };
  finish_node(node, result);
  return result;
}

namespace {

/// Divisor and dividend were kept, in this order: -grad * ((self / other) / other), and grad / other.
void divide_backward(Backward& backward) {
  const Tensor divisor = backward.kept(0);
  const Tensor dividend = backward.kept(1);
  const DType dtype = promote(dividend.dtype(), divisor.dtype());
  const auto next = [&] { return allocate(dividend.shape(), dtype, {&divide_rule}); };
  {
    const Tensor negative = next();
    Tensor quotient = next();
    quotient = next();
    backward.give(1, next());
  }
  backward.give(0, next());
}

}  // namespace

Tensor divide(Tensor left, Tensor right) {
  const Tensor a = std::move(left);
  const Tensor b = std::move(right);
  const Ref<Node> node = begin_node(divide_rule, {&a, &b});
  if (node) {
    keep(node, b);
    keep(node, a);
    node->backward = divide_backward;
  }
  Tensor result = allocate(a.shape(), promote(a.dtype(), b.dtype()), {&divide_rule});
  finish_node(node, result);
  return result;
}

Tensor divide_in_place(Tensor left, Tensor right) {
  const Tensor a = std::move(left);
  const Tensor b = std::move(right);
  const Ref<Node> node = begin_node(divide_rule, {&a, &b});
  if (node) {
    keep(node, b);
    keep(node, allocate(a.shape(), a.dtype(), {&divide_rule, "dividend"}));
    node->backward = divide_backward;
  }
  Tensor result = alias(a, a.shape(), a->strides);
  result->is_view = a->is_view;
  finish_node(node, result);
  return result;
}

Tensor grouped_linear(Tensor argument, const Tensor& weight, const Tensor& offsets, bool turned, const char* role) {
  const Tensor given = std::move(argument);
  const Tensor x = to(given, weight.dtype());
  const Ref<Node> node = begin_node(grouped_rule, {&x, &weight});
  if (wants(node, 1)) keep(node, x);
  if (wants(node, 0)) keep(node, weight);
  keep(node, offsets);
  const Size one = weight.size(1) * weight.size(2);  // each row meets one of the matrices, and all are read
  const Size read = weight.elements() * element_bytes(weight.dtype());
  note_linear(Pass::forward, x.size(0), one, read);
  Tensor result = allocate({x.size(0), weight.size(turned ? 2 : 1)}, x.dtype(), {&grouped_rule, role});
  if (node)
    node->backward = [x_shape = x.shape(), weight_shape = weight.shape(), one, read](Backward& b) {
      note_linear_backward(x_shape[0], one, read, b.wants(0), b.wants(1));
      const DType dtype = b.gradient().dtype();
      int next = 0;
      const Tensor kept_x = b.wants(1) ? b.kept(next++) : Tensor();
      const Tensor kept_weight = b.wants(0) ? b.kept(next++) : Tensor();
      const Tensor kept_offsets = b.kept(next);
      if (b.wants(1)) b.give(1, allocate(weight_shape, dtype, {&grouped_rule, "weight gradient"}));
      if (b.wants(0)) b.give(0, allocate(x_shape, dtype, {&grouped_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor exchange_rows(Tensor argument, const Size& rows, const Rule& rule, const char* role, Component component) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(rule, {&x});
  Tensor result;
  {
    const Set<Component> received(active_run().component, component);
    result = selected_collective([&] { return allocate(with_rows(x.shape(), rows), x.dtype(), {&rule, role}); });
  }
  if (node)
    node->backward = [shape = x.shape(), &rule](Backward& b) {
      b.give(0, allocate(shape, b.gradient().dtype(), {&rule}));
    };
  finish_node(node, result);
  return result;
}

Size received_rows(const Size& sent, double imbalance) {
  if (imbalance == 1.0) return sent;
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(sent.value()) * imbalance));
}

}  // namespace trainmem
