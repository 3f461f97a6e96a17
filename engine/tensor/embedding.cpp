// Table look-ups.
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {
constexpr Rule embedding_rule{"embedding", "token ids: the gradient of the table needs them",
                              "derivatives.yaml: embedding (embedding_dense_backward)"};
}

Tensor embedding(const Tensor& weight, const Tensor& indices) {
  const Ref<Node> node = begin_node(embedding_rule, {&weight});
  keep(node, indices);
  Shape shape = indices.shape();
  shape.append(weight.size(1));
  Tensor result = allocate(shape, weight.dtype(), {&embedding_rule});
  if (node)
    node->backward = [weight_shape = weight.shape()](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(weight_shape, b.gradient().dtype(), {&embedding_rule, "weight gradient"}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
