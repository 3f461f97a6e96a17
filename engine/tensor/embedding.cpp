// Table look-ups.
#include "engine/tensor/embedding.h"

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule embedding_rule{"embedding", "token ids: the gradient of the table needs them",
                              "derivatives.yaml: embedding (embedding_dense_backward)"};
constexpr Rule kernel_rule{
    "embedding backward", "",
    "pytorch aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu: embedding_backward_cuda_kernel"};

}  // namespace

// More than 3,072 ids are sorted (Embedding.cu: embedding_dense_backward_cuda), and the rows of each are summed ten at
// a time.
Tensor embedding_backward(const Shape& table, DType dtype, const Size& ids, const Label& label) {
  constexpr std::int64_t unsorted = 3072;
  constexpr std::int64_t rows_of_a_sum = 10;
  if (ids <= unsorted) return allocate(table, dtype, label);
  const auto scratch = [](const Shape& shape, DType of, const char* role) {
    return allocate(shape, of, {&kernel_rule, role, true});
  };
  const Tensor sorted = scratch({ids}, DType::int64, "sorted ids (scratch)");
  const Tensor order = scratch({ids}, DType::int64, "order of the ids (scratch)");
  Tensor gradient = allocate(table, dtype, label);
  const Size segments = minimum(ids, table[0]);
  const Size sums = ids / Size(rows_of_a_sum) + segments;
  const Tensor offsets = scratch({ids}, DType::int64, "where an id begins (scratch)");
  const Tensor counts = scratch({segments}, DType::int64, "sums of each id (scratch)");
  const Tensor before = scratch({segments}, DType::int64, "sums before each id (scratch)");
  const Tensor starts = scratch({sums}, DType::int64, "where a sum begins (scratch)");
  const Tensor partial = scratch({sums, table[1]}, DType::float32, "sums of rows (scratch)");
  return gradient;
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
      b.give(0, embedding_backward(weight_shape, b.gradient().dtype(), kept.elements(),
                                   {&embedding_rule, "weight gradient"}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
