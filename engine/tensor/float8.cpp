#include "engine/tensor/float8.h"

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/selective.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

constexpr Rule float8_rule{"fp8 linear", "16-bit input of a linear layer: the gradient of its weight is made from it",
                           "torchao torchao/float8/float8_linear.py: matmul_with_hp_or_float8_args"};
constexpr Rule copy_rule{"fp8 copy", "", "torchao torchao/float8/float8_scaling_utils.py: hp_tensor_to_float8_dynamic"};

Tensor copy_of(const Shape& shape) { return allocate(shape, DType::float8, {&copy_rule}); }

}  // namespace

Tensor float8_linear(Tensor argument, const Tensor& weight, const char* role) {
  Tensor x = std::move(argument);
  Shape shape = x.shape();
  shape[-1] = weight.size(0);
  const Shape rows{x.elements() / x.size(-1), x.size(-1)};
  x = reshape(std::move(x), rows);
  const Ref<Node> node = begin_node(float8_rule, {&x, &weight});
  keep(node, x);
  keep(node, weight);
  const Size weight_bytes = weight.elements() * element_bytes(weight.dtype());
  Tensor result = selected_product(weight.shape(), [&] {
    const Tensor low_x = copy_of(x.shape());
    const Tensor low_weight = copy_of(weight.shape());
    note_linear(Pass::forward, x.size(0), weight.elements(), weight_bytes);
    return allocate({x.size(0), weight.size(0)}, x.dtype(), {&float8_rule, role});
  });
  if (node)
    node->backward = [weight_bytes](Backward& b) {
      const Tensor kept_x = b.kept(0);
      const Tensor kept_weight = b.kept(1);
      const Tensor& gradient = b.gradient();
      note_linear_backward(kept_x.size(0), kept_weight.elements(), weight_bytes, b.wants(0), b.wants(1));
      const Tensor low_gradient = copy_of(gradient.shape());
      if (b.wants(0)) {
        const Tensor low_weight = copy_of(kept_weight.shape());
        b.give(0, allocate(kept_x.shape(), gradient.dtype(), {&float8_rule}));
      }
      if (b.wants(1)) {
        const Tensor low_x = copy_of(kept_x.shape());
        b.give(1, allocate(kept_weight.shape(), gradient.dtype(), {&float8_rule, "weight gradient"}));
      }
    };
  finish_node(node, result);
  x.reset();
  return view(std::move(result), shape);
}

}  // namespace trainmem
