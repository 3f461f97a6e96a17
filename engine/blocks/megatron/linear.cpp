// Linear layers that tensor parallelism divides.
#include "engine/blocks/megatron/operations.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem::megatron {

namespace {

constexpr Rule column_rule{"column-parallel linear",
                           "input of a column-parallel linear layer: the gradient of its weight needs it",
                           "Megatron-Core tensor_parallel/layers.py: LinearWithGradAccumulationAndAsyncCommunication"};
constexpr Rule row_rule{"row-parallel linear",
                        "input of a row-parallel linear layer: the gradient of its weight needs it",
                        "Megatron-Core tensor_parallel/layers.py: RowParallelLinear"};
constexpr Rule gather_rule{"all-gather of the sequence", "",
                           "Megatron-Core tensor_parallel/mappings.py: _gather_along_first_dim"};
constexpr Rule scatter_rule{"reduce-scatter of the sequence", "",
                            "Megatron-Core tensor_parallel/mappings.py: _reduce_scatter_along_first_dim"};

constexpr Rule dummy_rule{
    "dummy weight gradient",
    "stands in for a weight's gradient that went straight to the main gradients; one for each shape",
    "Transformer Engine pytorch/module/base.py: get_dummy_wgrad"};

Size weight_bytes(const ParallelLinear& layer, DType dtype) {
  return layer.in * layer.out * layer.stack * element_bytes(dtype);
}

/// All rows of x. Nothing is allocated where the global memory buffer takes them.
Tensor gather(const Tensor& x, const SequenceLayout& layout) {
  if (!layout.sequence_parallel || layout.gather_buffer) return {};
  const Set<Component> component(active_run().component, Component::communication);
  return allocate({layout.sequence, x.size(1), x.size(2)}, x.dtype(), {&gather_rule, "gathered sequence"});
}

/// A weight's gradient that is computed later keeps both its factors. The weight's node does not.
void put_off(const Tensor& input, const Tensor& gradient, const Shape& gathered, bool gathers) {
  if (std::vector<PutOffProduct>* products = active_run().put_off_products)
    products->push_back({input, gradient, gathered, gathers, active_run().layer});
}

}  // namespace

void DummyGradients::expect(const Shape& shape) { expected_.push_back(shape); }

void DummyGradients::make_all(DType dtype) {
  for (const Shape& shape : expected_) make(shape, dtype);
}

void DummyGradients::make(const Shape& shape, DType dtype) {
  for (const Tensor& known : tensors_)
    if (known.shape() == shape) return;
  const Place place("buffers", Component::workspace);
  tensors_.push_back(allocate(shape, dtype, {&dummy_rule}));
  note_kept(tensors_.back(), dummy_rule);
}

Tensor reduce_scatter(Tensor full, const SequenceLayout& layout) {
  if (!layout.sequence_parallel) return full;
  return allocate({layout.local, full.size(1), full.size(2)}, full.dtype(), {&scatter_rule});
}

Tensor column_linear(Tensor argument, const ParallelLinear& layer, const SequenceLayout& layout, const char* role) {
  if (layer.float8 != Float8::none) return float8_column_linear(std::move(argument), layer, layout, role);
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(column_rule, {&x, &layer.bias, &layer.weight});
  keep(node, x);
  const Tensor gathered = gather(x, layout);
  const Size rows = layout.sequence * x.size(1);
  const Size read = weight_bytes(layer, x.dtype());
  note_linear(Pass::forward, rows, layer.in * layer.out, read);
  Tensor result = allocate({layout.sequence, x.size(1), layer.out}, x.dtype(), {&column_rule, role});
  if (node)
    node->backward = [layout, rows, read, in = layer.in, out = layer.out, stack = layer.stack,
                      dummies = layer.dummies](Backward& b) {
      const Tensor kept = b.kept(0);
      Tensor all_rows = gather(kept, layout);
      note_linear_backward(rows, in * out, read, true, true);
      const DType dtype = b.gradient().dtype();
      Tensor input_gradient = allocate({layout.sequence, kept.size(1), in}, dtype, {&column_rule, "input gradient"});
      Tensor scattered = reduce_scatter(input_gradient, layout);
      put_off(kept, b.gradient(), input_gradient.shape(), all_rows.defined());
      if (b.wants(2)) b.give(2, allocate({stack * out, in}, dtype, {&column_rule, "weight gradient"}));
      all_rows.reset();  // before the stand-in is made: layernorm_linear.py, clear_tensor_data(ln_out_total)
      if (dummies != nullptr) dummies->make({out, in}, dtype);
      if (b.wants(1)) b.give(1, allocate({out}, dtype, {&column_rule, "bias gradient"}));
      b.give(0, std::move(scattered));
    };
  finish_node(node, result);
  return result;
}

Tensor row_linear(Tensor argument, const ParallelLinear& layer, const SequenceLayout& layout, const char* role) {
  if (layer.float8 != Float8::none) return float8_row_linear(std::move(argument), layer, layout, role);
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(row_rule, {&x, &layer.weight});
  keep(node, x);
  const Size rows = layout.sequence * x.size(1);
  const Size read = weight_bytes(layer, x.dtype());
  note_linear(Pass::forward, rows, layer.in * layer.out, read);
  Tensor result;
  {
    Tensor partial = allocate({layout.sequence, x.size(1), layer.out}, x.dtype(), {&row_rule, role});
    result = reduce_scatter(std::move(partial), layout);
  }
  if (node)
    node->backward = [layout, rows, read, in = layer.in, out = layer.out, stack = layer.stack,
                      dummies = layer.dummies](Backward& b) {
      const Tensor kept = b.kept(0);
      Tensor all_rows = gather(b.gradient(), layout);
      note_linear_backward(rows, in * out, read, true, true);
      put_off(kept, all_rows.defined() ? all_rows : b.gradient(), kept.shape(), false);
      const DType dtype = b.gradient().dtype();
      Tensor input_gradient = allocate({layout.sequence, kept.size(1), in}, dtype, {&row_rule, "input gradient"});
      if (b.wants(1)) b.give(1, allocate({stack * out, in}, dtype, {&row_rule, "weight gradient"}));
      all_rows.reset();  // before the stand-in is made: linear.py, clear_tensor_data(grad_output)
      if (dummies != nullptr) dummies->make({out, in}, dtype);
      b.give(0, std::move(input_gradient));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem::megatron
