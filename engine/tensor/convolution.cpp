#include "engine/tensor/convolution.h"

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule convolution_rule{"convolution", "input of the convolution: the gradient of its weight needs it",
                                "derivatives.yaml: convolution"};
constexpr Rule causal_rule{"causal_conv1d", "input of the convolution: its backward needs it",
                           "causal-conv1d causal_conv1d/causal_conv1d_interface.py: CausalConv1dFn"};

}  // namespace

Tensor depthwise_conv1d(Tensor argument, const Tensor& given_weight, const Tensor& given_bias) {
  const Tensor given = std::move(argument);
  const Tensor bias = autocast_low(given_bias);
  const Tensor weight = autocast_low(given_weight);
  const Tensor x = autocast_low(given);
  const Ref<Node> node = begin_node(convolution_rule, {&x, &weight, &bias});
  keep(node, x);
  keep(node, weight);
  const Shape shape{x.size(0), x.size(1), x.size(2) + (weight.size(2) - 1)};
  Tensor result = allocate(shape, x.dtype(), {&convolution_rule, "convolution"});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept_x = b.kept(0);
      const Tensor kept_weight = b.kept(1);
      const DType dtype = b.gradient().dtype();
      if (b.wants(0)) b.give(0, allocate(kept_x.shape(), dtype, {&convolution_rule}));
      if (b.wants(1)) b.give(1, allocate(kept_weight.shape(), dtype, {&convolution_rule, "weight gradient"}));
      if (b.wants(2)) b.give(2, allocate({kept_weight.size(0)}, dtype, {&convolution_rule, "bias gradient"}));
    };
  finish_node(node, result);
  return result;
}

// Gradients of the weight and of the bias are summed up in fp32 and cast: causal_conv1d/cpp_functions.py,
// causal_conv1d_bwd_function.
Tensor causal_conv1d(Tensor argument, const Tensor& weight, const Tensor& bias) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(causal_rule, {&x, &weight, &bias});
  keep(node, x);
  keep(node, weight);
  Tensor result = allocate_like(x, x.shape(), x.dtype(), {&causal_rule, "convolution"});
  if (node)
    node->backward = [biased = bias.defined()](Backward& b) {
      const Tensor kept_x = b.kept(0);
      const Tensor kept_weight = b.kept(1);
      const auto cast = [&](Tensor sum) {
        if (kept_weight.dtype() == DType::float32) return sum;
        return allocate(sum.shape(), kept_weight.dtype(), {&causal_rule, "weight gradient"});
      };
      Tensor of_x = allocate_like(kept_x, kept_x.shape(), kept_x.dtype(), {&causal_rule});
      Tensor of_weight = allocate(kept_weight.shape(), DType::float32, {&causal_rule, "weight gradient"});
      Tensor of_bias;
      if (biased) of_bias = allocate({kept_weight.size(0)}, DType::float32, {&causal_rule, "bias gradient"});
      of_weight = cast(std::move(of_weight));
      if (biased) of_bias = cast(std::move(of_bias));
      if (b.wants(0)) b.give(0, std::move(of_x));
      if (b.wants(1)) b.give(1, std::move(of_weight));
      if (b.wants(2)) b.give(2, std::move(of_bias));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
