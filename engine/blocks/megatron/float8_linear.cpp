// Linear layers of Transformer Engine in fp8.
//
// A product takes fp8 copies of its factors; results and gradients between the layers stay in 16 bits. Of the input a
// layer keeps one fp8 copy: laid out for the gradient of its weight, or, where tensors with one scale are gathered
// again, as it was sent. The weight's fp8 copies live from step to step (gpt_parameters.cpp). Scales of whole tensors
// and histories of maxima, a few numbers a layer, are not counted.
// Source: NVIDIA/TransformerEngine v2.9 and, for blocks, d0067d0: transformer_engine/pytorch/module/linear.py,
// layernorm_linear.py and base.py (grad_output_preprocess), tensor/storage/float8_tensor_storage.py (update_usage),
// distributed.py (gather_along_first_dim).
#include "engine/blocks/megatron/float8_copies.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem::megatron {

namespace {

constexpr const char* source = "Transformer Engine pytorch/module/linear.py, layernorm_linear.py";
constexpr Rule column_rule{"column-parallel linear in fp8",
                           "fp8 copy of a linear layer's input: the gradient of its weight needs it", source};
constexpr Rule row_rule{"row-parallel linear in fp8",
                        "fp8 copy of a linear layer's input: the gradient of its weight needs it", source};

Size weight_bytes(const ParallelLinear& layer) { return layer.in * layer.out * layer.stack; }

/// What the gradient of the weight needs of the input.
void keep_input(const Ref<Node>& node, const Float8Copies& input) {
  keep(node, input.across.defined() ? input.across : input.along);
  if (input.across_scales.defined()) keep(node, input.across_scales);
}

}  // namespace

Tensor float8_column_linear(Tensor argument, const ParallelLinear& layer, const SequenceLayout& layout,
                            const char* role) {
  Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(column_rule, {&x, &layer.bias, &layer.weight});
  const bool gathers = layout.sequence_parallel;
  const Shape whole{layout.sequence, x.size(1), layer.in};
  const Size rows = layout.sequence * x.size(1);
  const DType dtype = x.dtype();
  const bool kept_across = node && (in_blocks(layer.float8) || !gathers);
  Float8Copies input = quantize(x.shape(), layer.float8, true, kept_across);
  x.reset();
  GatheredCopies gathered;
  if (gathers) gathered = gather(whole, layer.float8, true, false);
  gathered.put_in_order();
  note_linear(Pass::forward, rows, layer.in * layer.out, weight_bytes(layer));
  Tensor result = allocate({layout.sequence, whole[1], layer.out}, dtype, {&column_rule, role});
  gathered = {};
  keep_input(node, input);
  if (node)
    node->backward = [layer, layout, whole, rows, gathers](Backward& b) {
      const Tensor kept = b.kept(0);
      const DType format = b.gradient().dtype();
      const Float8Copies gradient = quantize(b.gradient().shape(), layer.float8, true, true);
      const bool blocks = in_blocks(layer.float8);
      GatheredCopies all_rows;
      if (gathers) all_rows = gather(whole, layer.float8, !blocks, blocks);
      note_linear_backward(rows, layer.in * layer.out, weight_bytes(layer), true, true);
      Tensor input_gradient = allocate(whole, format, {&column_rule, "input gradient"});
      Tensor scattered = reduce_scatter(input_gradient, layout);
      all_rows.put_in_order();
      Tensor transposed = gathers ? transposed_rows(whole, layer.float8) : Tensor();
      if (b.wants(2))
        b.give(2, allocate({layer.stack * layer.out, layer.in}, format, {&column_rule, "weight gradient"}));
      all_rows = {};  // layernorm_linear.py, clear_tensor_data(ln_out_total)
      transposed.reset();
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
  const Float8Copies input = quantize(shape, layer.float8, true, static_cast<bool>(node));
  x.reset();
  note_linear(Pass::forward, rows, layer.in * layer.out, weight_bytes(layer));
  Tensor result;
  {
    Tensor partial = allocate({layout.sequence, shape[1], layer.out}, dtype, {&row_rule, role});
    result = reduce_scatter(std::move(partial), layout);
  }
  keep_input(node, input);
  if (node)
    node->backward = [layer, layout, shape, rows](Backward& b) {
      const Tensor kept = b.kept(0);
      const DType format = b.gradient().dtype();
      Float8Copies gradient;
      Tensor transposed;
      if (layout.sequence_parallel) {
        const bool blocks = in_blocks(layer.float8);
        const Float8Copies sent = quantize(b.gradient().shape(), layer.float8, true, blocks);
        const Shape whole{layout.sequence, shape[1], layer.out};
        GatheredCopies gathered = gather(whole, layer.float8, true, blocks);
        gathered.put_in_order();
        transposed = transposed_rows(whole, layer.float8);
        gradient = std::move(gathered.copies);
      } else {
        gradient = quantize(b.gradient().shape(), layer.float8, true, true);
      }
      note_linear_backward(rows, layer.in * layer.out, weight_bytes(layer), true, true);
      Tensor input_gradient = allocate(shape, format, {&row_rule, "input gradient"});
      if (b.wants(1)) b.give(1, allocate({layer.stack * layer.out, layer.in}, format, {&row_rule, "weight gradient"}));
      if (layout.sequence_parallel) {  // linear.py, clear_tensor_data(grad_output)
        gradient = Float8Copies();
        transposed.reset();
      }
      if (layer.dummies != nullptr) layer.dummies->make({layer.out, layer.in}, format);
      b.give(0, std::move(input_gradient));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem::megatron
