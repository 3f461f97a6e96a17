// Linear layers with 4-bit weights: bitsandbytes autograd/_functions.py, MatMul4Bit, and functional.py, quantize_4bit.
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

constexpr Rule packed_rule{"4-bit weight", "a frozen weight, two to a byte",
                           "bitsandbytes functional.py: quantize_4bit"};
constexpr Rule scale_rule{"scales of 4-bit weights", "scale of every 64 weights",
                          "bitsandbytes functional.py: quantize_4bit"};
constexpr Rule copy_rule{"16-bit copy of a 4-bit weight", "", "bitsandbytes autograd/_functions.py: MatMul4Bit"};
constexpr Rule product_rule{"linear", "", "bitsandbytes autograd/_functions.py: MatMul4Bit", true};

}  // namespace

QuantizedWeight make_quantized_weight(Size out, Size in, bool double_quantization, const char* name) {
  Run& run = active_run();
  const Set<Component> component(run.component, Component::weights);
  QuantizedWeight weight;
  weight.out = out;
  weight.in = in;
  const auto hold = [&](Tensor tensor, const Rule& rule) {
    note_kept(tensor, rule);
    weight.tensors.push_back(std::move(tensor));
  };
  const Size blocks = ceil_divide(out * in, 64);
  if (run.new_parameters.maker) {
    // To be sharded beside 16-bit weights the packed ones are stored as 16-bit numbers (bnb_4bit_quant_storage); the
    // scales are not sharded.
    weight.packed = make_parameter({ceil_divide(out * in, 4), 1}, DType::bfloat16, name);
  } else {
    hold(allocate({ceil_divide(out * in, 2), 1}, DType::uint8, {&packed_rule, name}), packed_rule);
  }
  if (double_quantization) {
    hold(allocate({blocks}, DType::uint8, {&scale_rule}), scale_rule);
    hold(allocate({ceil_divide(blocks, 256)}, DType::float32, {&scale_rule, "scales of scales"}), scale_rule);
    hold(allocate({256}, DType::float32, {&scale_rule, "code of scales"}), scale_rule);
    hold(allocate({}, DType::float32, {&scale_rule, "offset of scales"}), scale_rule);
  } else {
    hold(allocate({blocks}, DType::float32, {&scale_rule}), scale_rule);
  }
  hold(allocate({16}, DType::float32, {&scale_rule, "code of weights"}), scale_rule);
  return weight;
}

Tensor quantized_linear(Tensor argument, const QuantizedWeight& weight, DType computation, const char* role) {
  const DType given = argument.dtype();
  const Tensor x = to(std::move(argument), computation);
  const Ref<Node> node = begin_node(product_rule, {&x, &weight.packed});
  const Shape whole{weight.out, weight.in};
  Shape shape = x.shape();
  shape[-1] = weight.out;
  const Size packed = ceil_divide(weight.out * weight.in, 2);  // scales are small beside it
  Tensor result;
  {
    const Tensor copy = allocate(whole, computation, {&copy_rule});
    note_linear(Pass::forward, x.elements() / weight.in, weight.out * weight.in, packed);
    result = allocate(shape, computation, {&product_rule, role});
  }
  if (node)
    node->backward = [whole, packed, x_shape = x.shape()](Backward& b) {
      const Tensor copy = allocate(whole, b.gradient().dtype(), {&copy_rule});
      note_linear_backward(x_shape.elements() / whole[1], whole.elements(), packed, true, false);
      b.give(0, allocate(x_shape, b.gradient().dtype(), {&product_rule}));
    };
  finish_node(node, result);
  return to(std::move(result), given);
}

}  // namespace trainmem
