#include "engine/blocks/linear_layer.h"

#include <utility>

#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

/// A module's argument lives until the module has returned, whatever its hooks and its forward make of it
/// (torch/nn/modules/module.py: _wrapped_call_impl). Compiled code lets go of it after its last use.
Tensor held_by_call(const Tensor& x) { return active_run().compiled_region == 0 ? x : Tensor(); }

constexpr Rule round_rule{"rounded", "weights of three values, inputs of 8 bits, in the format of what was rounded",
                          "transformers integrations/bitnet.py: WeightQuant, ActQuant, each one compiled kernel"};

/// The gradient is passed on as a copy, as if nothing had been rounded.
Tensor rounded(const Tensor& x) {
  const Ref<Node> node = begin_node(round_rule, {&x});
  Tensor result = allocate_like(x, x.shape(), x.dtype(), {&round_rule, "rounded"});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor& gradient = b.gradient();
      b.give(0, allocate_like(gradient, gradient.shape(), gradient.dtype(), {&round_rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace

Linear::Linear(Size in, Size out, bool with_bias, DType dtype, const char* name)
    : role(name), split(weight_split(name)) {
  const Run& run = active_run();
  if (is_quantized(name)) {
    quantized = make_quantized_weight(out, in, run.settings.fine_tuning.quantization == Quantization::nf4_double, name);
    if (dtype != DType::float32) computation = dtype;
  } else {
    weight = make_parameter({out, in}, dtype, name);
  }
  if (with_bias) bias = make_parameter({out}, dtype, name);
  adapter = make_adapter(in, out, name);
}

// transformers integrations/bitnet.py: AutoBitLinear.forward.
Tensor Linear::plain(Tensor x) const {
  if (!rounds) return linear(std::move(x), weight, bias, role);
  const Tensor of_three = rounded(weight);
  const Tensor input = rounded(x);
  return linear(input, of_three, bias, role);
}

Tensor Linear::operator()(Tensor x) const {
  const Tensor given = held_by_call(x);
  if (quantized.defined()) {
    Tensor base = quantized_linear(x, quantized, computation, role);
    if (!adapter.defined()) return base;
    return adapter.beside_quantized(std::move(base), x);
  }
  if (split == WeightSplit::columns) x = column_input(std::move(x));
  if (split == WeightSplit::rows) return reduce_rows(linear(std::move(x), weight, bias, role));
  if (!adapter.defined()) return plain(std::move(x));
  Tensor base = plain(x);
  return adapter(std::move(base), x);
}

Tensor language_head(const Linear& head, Tensor hidden) {
  const Tensor given = held_by_call(hidden);
  const Tensor gathered = gather_sequence(std::move(hidden));
  return gather_logits(head(gathered));
}

Conv1D::Conv1D(Size in, Size out, DType dtype, const char* name) : role(name) {
  if (is_quantized(name)) {
    quantized = Linear(in, out, true, dtype, name);
    return;
  }
  weight = make_parameter({in, out}, dtype, name);
  bias = make_parameter({out}, dtype, name);
  adapter = make_adapter(in, out, name);
}

Tensor Conv1D::operator()(Tensor x) const {
  if (quantized.quantized.defined()) return quantized(std::move(x));
  if (!adapter.defined()) return conv1d(std::move(x), weight, bias, role);
  Tensor base = conv1d(x, weight, bias, role);
  return adapter(std::move(base), x);
}

}  // namespace trainmem
