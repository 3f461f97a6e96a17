// Softmax over the last dimension: its result is what its backward needs.
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {
constexpr Rule softmax_rule{"softmax", "result of softmax: its backward needs it", "derivatives.yaml: _softmax"};
}

Tensor softmax(Tensor argument, DType dtype) {
  const Tensor given = std::move(argument);  // the caller's; held until softmax returns
  Tensor x = given;
  // aten SoftMax.cpp: only fp16 to fp32 is one kernel; any other pair casts first.
  const bool one_kernel = x.dtype() == DType::float16 && dtype == DType::float32;
  if (dtype == DType::automatic)
    x = autocast_fp32(std::move(x));
  else if (!one_kernel)
    x = to(std::move(x), dtype);
  const Ref<Node> node = begin_node(softmax_rule, {&x});
  Tensor result = allocate(x.shape(), one_kernel ? dtype : x.dtype(), {&softmax_rule});
  keep(node, result);
  if (node)
    node->backward = [dtype = x.dtype()](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(kept.shape(), dtype, {&softmax_rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
