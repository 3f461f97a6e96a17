#include "engine/blocks/torchtitan/complex_rope.h"

namespace trainmem::torchtitan {

namespace {

constexpr Rule complex_rule{"complex mul", "frequencies: the gradient of the other factor needs them",
                            "derivatives.yaml: mul.Tensor (mul_tensor_backward)"};

/// Product with the frequencies, both complex: its backward multiplies with their conjugates, which are written out.
Tensor multiply_complex(const Tensor& x, const Tensor& frequencies) {
  const Ref<Node> node = begin_node(complex_rule, {&x});
  keep(node, frequencies);
  Tensor result = allocate(x.shape(), x.dtype(), {&complex_rule});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor conjugates = allocate(kept.shape(), kept.dtype(), {&complex_rule, "conjugate frequencies"});
      b.give(0, allocate(b.gradient().shape(), b.gradient().dtype(), {&complex_rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace

Tensor turn(const Tensor& x, const Tensor& frequencies) {
  const Tensor complex_numbers = to(x, DType::float32);
  const Tensor turned = multiply_complex(complex_numbers, frequencies);
  return to(turned, x.dtype());
}

}  // namespace trainmem::torchtitan
