#include "engine/blocks/megatron/dispatch.h"

#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule scatter_rule{"scatter", "which experts were chosen: the gradient of their scores needs it",
                            "derivatives.yaml: scatter.src"};
constexpr Rule select_rule{"masked select", "map of tokens to experts: the gradient is put where it is set",
                           "derivatives.yaml: masked_select"};
constexpr Rule exchange_rule{"all-to-all of tokens", "", "Megatron-Core tensor_parallel/mappings.py: _AllToAll"};
constexpr Rule reorder_rule{"reordered tokens", "", "Megatron-Core transformer/moe/moe_utils.py: sort_chunks_by_idxs"};
constexpr Rule gather_rule{"all-gather of tokens", "",
                           "Megatron-Core tensor_parallel/mappings.py: gather_from_sequence_parallel_region"};
constexpr Rule swiglu_rule{"weighted SwiGLU", "input and routing weights of the fused SwiGLU: its backward needs them",
                           "Megatron-Core fusions/fused_bias_swiglu.py: WeightedSwiGLUFunction"};

Shape with_rows(const Shape& shape, const Size& rows) {
  Shape result = shape;
  result[0] = rows;
  return result;
}

}  // namespace

Tensor scatter_scores(Tensor argument, const Tensor& chosen, Size experts) {
  const Tensor scores = std::move(argument);
  const Ref<Node> node = begin_node(scatter_rule, {&scores});
  keep(node, chosen);
  const Shape shape{scores.size(0), experts};
  const Tensor zeros = allocate(shape, scores.dtype(), {&scatter_rule});
  Tensor result = allocate(shape, scores.dtype(), {&scatter_rule, "routing scores"});
  if (node)
    node->backward = [shape = scores.shape()](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(shape, b.gradient().dtype(), {&scatter_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor select_scores(Tensor argument, Size rows) {
  const Tensor scores = std::move(argument);
  const Ref<Node> node = begin_node(select_rule, {&scores});
  keep(node, allocate(scores.shape(), DType::boolean, {&select_rule, "map of tokens to experts"}));
  const Tensor by_expert = allocate(scores.shape(), scores.dtype(), {&select_rule});
  Tensor result = allocate({rows}, scores.dtype(), {&select_rule, "routing weights by expert"});
  if (node)
    node->backward = [shape = scores.shape()](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(shape, b.gradient().dtype(), {&select_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor all_to_all(Tensor x, Size rows, const char* role) {
  return exchange_rows(std::move(x), rows, exchange_rule, role, Component::communication);
}

Tensor reorder(Tensor x, const char* role) {
  const Size rows = x.size(0);
  return exchange_rows(std::move(x), rows, reorder_rule, role, active_run().component);
}

Tensor gather_rows(Tensor x, Size ranks) {
  const Size rows = x.size(0) * ranks;
  return exchange_rows(std::move(x), rows, gather_rule, "gathered tokens", Component::communication);
}

Tensor gather_in_buffer(Tensor argument, Size ranks) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(gather_rule, {&x});
  Tensor result = allocate_nothing(with_rows(x.shape(), x.size(0) * ranks), x.dtype());
  if (node)
    node->backward = [shape = x.shape()](Backward& b) {
      b.give(0, allocate(shape, b.gradient().dtype(), {&gather_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor reduce_rows(Tensor x, Size ranks) {
  const Size rows = x.size(0) / ranks;
  return exchange_rows(std::move(x), rows, gather_rule, "expert output", active_run().component);
}

Tensor weighted_swiglu(Tensor argument, const Tensor& weights) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(swiglu_rule, {&x, &weights});
  keep(node, x);
  keep(node, weights);
  Tensor result = allocate({x.size(0), x.size(1) / Size(2)}, x.dtype(), {&swiglu_rule});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept_x = b.kept(0);
      const Tensor kept_weights = b.kept(1);
      b.give(0, allocate(kept_x.shape(), kept_x.dtype(), {&swiglu_rule}));
      if (b.wants(1)) b.give(1, allocate(kept_weights.shape(), kept_weights.dtype(), {&swiglu_rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem::megatron
