// Linear layers of Transformer Engine in fp8, with one scale for each tensor: delayed or current scaling.
//
// A product takes fp8 copies of its factors; results and gradients between the layers stay in 16 bits. Of the input a
// layer keeps one fp8 copy: laid out for the gradient of its weight, or, where the sequence is gathered again, as it
// was sent. The weight's fp8 copies live from step to step (gpt_parameters.cpp). Scales and histories of maxima, a few
// numbers a layer, are not counted.
// Source: NVIDIA/TransformerEngine v2.9 transformer_engine/pytorch/module/linear.py, layernorm_linear.py and base.py
// (grad_output_preprocess), tensor/storage/float8_tensor_storage.py (update_usage), distributed.py (_all_gather_fp8).
#include "engine/blocks/megatron/operations.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem::megatron {

namespace {

constexpr const char* source = "Transformer Engine pytorch/module/linear.py, layernorm_linear.py";
constexpr Rule column_rule{"column-parallel linear in fp8",
                           "fp8 copy of a linear layer's input: the gradient of its weight needs it", source};
constexpr Rule row_rule{"row-parallel linear in fp8",
                        "fp8 copy of a linear layer's input: the gradient of its weight needs it", source};
constexpr Rule copy_rule{"fp8 copy", "",
                         "Transformer Engine pytorch/tensor/float8_tensor.py: Float8CurrentScalingQuantizer"};
constexpr Rule gather_rule{"all-gather of the sequence in fp8", "",
                           "Transformer Engine pytorch/distributed.py: _all_gather_fp8"};

/// An fp8 tensor as a product along its last dimension takes it, and its transposed copy where there is one.
struct Copies {
  Tensor plain, transposed;
};

Copies quantize(const Shape& shape, Float8 kind) {
  Copies copies;
  copies.plain = allocate(shape, DType::float8, {&copy_rule});
  if (kind == Float8::transposing) copies.transposed = allocate(shape, DType::float8, {&copy_rule});
  return copies;
}

Tensor gather(const Shape& whole) {
  const Set<Component> component(active_run().component, Component::communication);
  return allocate(whole, DType::float8, {&gather_rule, "gathered sequence"});
}

Size weight_bytes(const ParallelLinear& layer) { return layer.in * layer.out * layer.stack; }

}  // namespace

Tensor float8_column_linear(Tensor argument, const ParallelLinear& layer, const SequenceLayout& layout,
                            const char* role) {
  Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(column_rule, {&x, &layer.bias, &layer.weight});
  const bool gathers = layout.sequence_parallel;
  const Shape whole{layout.sequence, x.size(1), layer.in};
  const Size rows = layout.sequence * x.size(1);
  const DType dtype = x.dtype();
  Copies input = quantize(x.shape(), node && !gathers ? layer.float8 : Float8::plain);
  x.reset();
  Tensor gathered = gathers ? gather(whole) : Tensor();
  note_linear(Pass::forward, rows, layer.in * layer.out, weight_bytes(layer));
  Tensor result = allocate({layout.sequence, whole[1], layer.out}, dtype, {&column_rule, role});
  gathered.reset();
  keep(node, input.transposed.defined() ? input.transposed : input.plain);
  if (node)
    node->backward = [layer, layout, whole, rows, gathers](Backward& b) {
      const Tensor kept = b.kept(0);
      const DType format = b.gradient().dtype();
      const Copies gradient = quantize(b.gradient().shape(), layer.float8);
      const Tensor all_rows = gathers ? gather(whole) : Tensor();
      note_linear_backward(rows, layer.in * layer.out, weight_bytes(layer), true, true);
      Tensor input_gradient = allocate(whole, format, {&column_rule, "input gradient"});
      Tensor scattered = reduce_scatter(input_gradient, layout);
      Tensor transposed;
      if (gathers && layer.float8 == Float8::transposing) transposed = allocate(whole, DType::float8, {&copy_rule});
      if (b.wants(2))
        b.give(2, allocate({layer.stack * layer.out, layer.in}, format, {&column_rule, "weight gradient"}));
      if (layer.dummies != nullptr) layer.dummies->make({layer.out, layer.in}, format);
      if (b.wants(1)) b.give(1, allocate({layer.out}, format, {&column_rule, "bias gradient"}));
      b.give(0, std::move(scattered));
    };
  finish_node(node, result);
  return result;
}

Tensor float8_row_linear(Tensor argument, const ParallelLinear& layer, const SequenceLayout& layout, const char* role) {
  Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(row_rule, {&x, &layer.weight});
  const Shape shape = x.shape();
  const Size rows = layout.sequence * x.size(1);
  const DType dtype = x.dtype();
  Copies input = quantize(shape, node ? layer.float8 : Float8::plain);
  x.reset();
  note_linear(Pass::forward, rows, layer.in * layer.out, weight_bytes(layer));
  Tensor result;
  {
    Tensor partial = allocate({layout.sequence, shape[1], layer.out}, dtype, {&row_rule, role});
    result = reduce_scatter(std::move(partial), layout);
  }
  keep(node, input.transposed.defined() ? input.transposed : input.plain);
  if (node)
    node->backward = [layer, layout, shape, rows](Backward& b) {
      const Tensor kept = b.kept(0);
      const DType format = b.gradient().dtype();
      Copies gradient;
      if (layout.sequence_parallel) {
        const Tensor sent = allocate(b.gradient().shape(), DType::float8, {&copy_rule});
        const Shape whole{layout.sequence, shape[1], layer.out};
        gradient.plain = gather(whole);
        if (layer.float8 == Float8::transposing) gradient.transposed = allocate(whole, DType::float8, {&copy_rule});
      } else {
        gradient = quantize(b.gradient().shape(), layer.float8);
      }
      note_linear_backward(rows, layer.in * layer.out, weight_bytes(layer), true, true);
      Tensor input_gradient = allocate(shape, format, {&row_rule, "input gradient"});
      if (b.wants(1)) b.give(1, allocate({layer.stack * layer.out, layer.in}, format, {&row_rule, "weight gradient"}));
      if (layer.dummies != nullptr) layer.dummies->make({layer.out, layer.in}, format);
      b.give(0, std::move(input_gradient));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem::megatron
