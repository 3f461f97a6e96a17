// Norms in one kernel. What RMSNorm keeps when it is written out follows from its forward (blocks/).
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule layer_norm_rule{"layer_norm", "input, mean and 1/std of a layer norm: its backward needs them",
                               "derivatives.yaml: native_layer_norm"};
constexpr Rule rms_norm_rule{"rms_norm", "input and 1/rms of an RMS norm: its backward needs them",
                             "derivatives.yaml: _fused_rms_norm"};

constexpr Rule liger_rms_norm_rule{"rms_norm", "input and 1/rms of an RMS norm: its backward needs them",
                                   "Liger-Kernel src/liger_kernel/ops/rms_norm.py: LigerRMSNormFunction"};

Shape statistics_shape(const Tensor& x) {
  Shape shape = x.shape();
  shape[-1] = 1;
  return shape;
}

/// Of a strided input; undefined where it is contiguous (aten native/cuda/layer_norm_kernel.cu: expect_contiguous).
Tensor contiguous_copy(const Tensor& x, const Rule& rule, bool in_kernel = false) {
  return x.is_contiguous() ? Tensor() : allocate(x.shape(), x.dtype(), {&rule, "contiguous copy", in_kernel});
}

}  // namespace

Tensor layer_norm(Tensor argument, const Tensor& given_weight, const Tensor& given_bias) {
  // Under autocast a layer norm is of the fp32 list: input, weight and bias.
  const Tensor given = std::move(argument);
  const Tensor x = autocast_fp32(given);
  const Tensor weight = given_weight.defined() ? autocast_fp32(given_weight) : Tensor();
  const Tensor bias = given_bias.defined() ? autocast_fp32(given_bias) : Tensor();
  const Ref<Node> node = begin_node(layer_norm_rule, {&x, &weight, &bias});
  keep(node, x);
  if (weight.defined()) keep(node, weight);
  if (bias.defined()) keep(node, bias);
  const Tensor read = contiguous_copy(x, layer_norm_rule, true);
  Tensor result = allocate(x.shape(), x.dtype(), {&layer_norm_rule});
  const Tensor mean = allocate(statistics_shape(x), DType::float32, {&layer_norm_rule, "mean"});
  const Tensor deviation = allocate(statistics_shape(x), DType::float32, {&layer_norm_rule, "1/std"});
  keep(node, mean);
  keep(node, deviation);
  if (node)
    node->backward = [kept = 3 + (weight.defined() ? 1 : 0) + (bias.defined() ? 1 : 0),
                      weight_shape = weight.defined() ? weight.shape() : Shape()](Backward& b) {
      std::vector<Tensor> held;
      for (int i = 0; i < kept; ++i) held.push_back(b.kept(i));
      const DType dtype = held[0].dtype();
      const Tensor copy = contiguous_copy(held[0], layer_norm_rule, true);
      if (b.wants(0)) b.give(0, allocate(held[0].shape(), dtype, {&layer_norm_rule}));
      if (b.wants(1)) b.give(1, allocate(weight_shape, held[1].dtype(), {&layer_norm_rule, "weight gradient"}));
      if (b.wants(2)) b.give(2, allocate(weight_shape, held[1].dtype(), {&layer_norm_rule, "bias gradient"}));
    };
  finish_node(node, result);
  return result;
}

// What is kept is the input as it is given; its kernels, both ways, read a contiguous copy of their own.
Tensor fused_rms_norm(Tensor argument, const Tensor& weight) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(rms_norm_rule, {&x, &weight});
  keep(node, x);
  keep(node, weight);
  const Tensor read = contiguous_copy(x, rms_norm_rule);
  Tensor result = allocate(x.shape(), x.dtype(), {&rms_norm_rule});
  const Tensor scale = allocate(statistics_shape(x), DType::float32, {&rms_norm_rule, "1/rms"});
  keep(node, scale);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept_x = b.kept(0);
      const Tensor kept_weight = b.kept(1);
      const Tensor kept_scale = b.kept(2);
      const Tensor copy = contiguous_copy(kept_x, rms_norm_rule);
      if (b.wants(0)) b.give(0, allocate(kept_x.shape(), kept_x.dtype(), {&rms_norm_rule}));
      if (b.wants(1))
        b.give(1, allocate(kept_weight.shape(), kept_weight.dtype(), {&rms_norm_rule, "weight gradient"}));
    };
  finish_node(node, result);
  return result;
}

Tensor liger_rms_norm(Tensor argument, const Tensor& weight, bool in_place) {
  const Tensor x = contiguous(std::move(argument));
  const Ref<Node> node = begin_node(liger_rms_norm_rule, {&x, &weight});
  keep(node, x);
  keep(node, weight);
  Tensor result = allocate(x.shape(), x.dtype(), {&liger_rms_norm_rule});
  const Tensor scale = allocate(statistics_shape(x), DType::float32, {&liger_rms_norm_rule, "1/rms"});
  keep(node, scale);
  if (node)
    node->backward = [in_place, shape = x.shape(), dtype = x.dtype()](Backward& b) {
      const Tensor kept_weight = b.kept(1);
      const Tensor fresh = in_place ? Tensor() : allocate(shape, dtype, {&liger_rms_norm_rule});
      if (b.wants(1))
        b.give(1, allocate(kept_weight.shape(), kept_weight.dtype(), {&liger_rms_norm_rule, "weight gradient"}));
      b.give(0, in_place ? b.take_gradient() : fresh);
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
