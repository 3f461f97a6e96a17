// Embedding and loss over a vocabulary that is divided among the tensor-parallel ranks.
#include "engine/blocks/megatron/operations.h"
#include "engine/tensor/embedding.h"
#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule embedding_rule{"vocabulary-parallel embedding", "token ids: the gradient of the table needs them",
                              "Megatron-Core tensor_parallel/layers.py: VocabParallelEmbedding"};
constexpr Rule scatter_rule{"part of the sequence", "",
                            "Megatron-Core tensor_parallel/mappings.py: scatter_to_sequence_parallel_region"};
constexpr Rule entropy_rule{"vocabulary-parallel cross entropy",
                            "softmax of the logits: the backward of the loss needs it",
                            "Megatron-Core tensor_parallel/cross_entropy.py: _VocabParallelCrossEntropy"};
constexpr Rule compiled_rule{"compiled cross entropy", "softmax of the logits: the backward of the loss needs it",
                             "Megatron-Core fusions/fused_cross_entropy.py: _VocabParallelCrossEntropy"};
constexpr Rule fused_rule{"fused cross entropy", "gradient of the logits, written over them in forward",
                          "Transformer Engine pytorch/cross_entropy.py: CrossEntropyFunction"};
constexpr Rule mean_rule{"mean of the loss", "which tokens count", "pretrain_gpt.py: loss_func"};

}  // namespace

Tensor vocabulary_embedding(const Tensor& weight, const Tensor& ids, const SequenceLayout& layout, bool scatter,
                            Size t) {
  const Ref<Node> node = begin_node(embedding_rule, {&weight});
  Tensor rows = ids;
  if (t > 1) {  // ids of other ranks' rows point at row 0
    rows = allocate(ids.shape(), DType::int64, {&embedding_rule, "masked token ids"});
    keep(node, allocate(ids.shape(), DType::boolean, {&embedding_rule, "mask of other ranks' tokens"}));
  }
  keep(node, rows);
  const Size b = ids.size(0);
  const Size h = weight.size(1);
  Tensor result = allocate({b, layout.sequence, h}, weight.dtype(), {&embedding_rule, "embedding"});
  if (scatter) {
    // (s, b, h) is a copy unless there is one sequence only.
    if (b > 1) result = allocate({layout.sequence, b, h}, weight.dtype(), {&embedding_rule, "embedding"});
    result = allocate({layout.local, b, h}, weight.dtype(), {&embedding_rule, "embedding"});
    // language_model_embedding.py: clone_scatter_output_in_embedding.
    result = allocate(result.shape(), result.dtype(), {&embedding_rule, "embedding"});
  }
  if (node)
    node->backward = [layout, scatter, t, shape = weight.shape(), count = ids.elements()](Backward& backward) {
      Tensor gradient = backward.take_gradient();
      const Shape local = gradient.shape();
      const auto make = [&](const Shape& of_rows, const char* role) {
        return allocate(of_rows, gradient.dtype(), {&embedding_rule, role});
      };
      if (scatter) gradient = make({layout.sequence, local[1], local[2]}, "gathered gradient");
      if (t > 1) gradient = make(gradient.shape(), "gradient of this rank's tokens");  // derivatives.yaml: index_put_
      Tensor contiguous;
      if (scatter && local[1] > 1) contiguous = make(gradient.shape(), "gathered gradient");
      backward.give(0, embedding_backward(shape, gradient.dtype(), count, {&embedding_rule, "weight gradient"}));
    };
  finish_node(node, result);
  return result;
}

Tensor scatter_sequence(Tensor argument, const SequenceLayout& layout) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(scatter_rule, {&x});
  Tensor result = allocate({layout.local, x.size(1), x.size(2)}, x.dtype(), {&scatter_rule, "residual stream"});
  if (node)
    node->backward = [shape = x.shape()](Backward& b) {
      b.give(0, allocate(shape, b.gradient().dtype(), {&scatter_rule, "gathered gradient"}));
    };
  finish_node(node, result);
  return result;
}

Tensor vocabulary_cross_entropy(Tensor argument, const Tensor& /*labels*/) {
  const Tensor logits = std::move(argument);
  const Ref<Node> node = begin_node(entropy_rule, {&logits});
  const Shape tokens{logits.size(0), logits.size(1)};
  // From here on in place: minus maximum, exp, divided by the sum.
  const Tensor softmax = logits.dtype() == DType::float32
                             ? detach(logits)
                             : allocate(logits.shape(), DType::float32, {&entropy_rule, "softmax of the logits"});
  const Tensor maximum = allocate(tokens, DType::float32, {&entropy_rule});
  const Tensor mask = allocate(tokens, DType::boolean, {&entropy_rule, "mask of other ranks' targets"});
  const Tensor targets = allocate(tokens, DType::int64, {&entropy_rule, "masked targets"});
  const Tensor predicted = allocate(tokens, DType::float32, {&entropy_rule});
  const Tensor sums = allocate(tokens, DType::float32, {&entropy_rule});
  Tensor loss = allocate(tokens, DType::float32, {&entropy_rule, "loss of each token"});
  keep(node, softmax);
  keep(node, mask);
  keep(node, targets);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor mask_kept = b.kept(1);
      const Tensor targets_kept = b.kept(2);
      const Tensor update = allocate(mask_kept.shape(), DType::float32, {&entropy_rule});
      b.give(0, b.kept(0));  // the gradient is written over the softmax
    };
  finish_node(node, loss);
  return loss;
}

Tensor native_cross_entropy(Tensor argument, const Tensor& /*labels*/) {
  const Tensor logits = std::move(argument);
  const Ref<Node> node = begin_node(compiled_rule, {&logits});
  const Shape tokens{logits.size(0), logits.size(1)};
  Tensor softmax;
  {
    const Tensor upcast = allocate(logits.shape(), DType::float32, {&compiled_rule, "fp32 logits"});
    softmax = allocate(logits.shape(), DType::float32, {&compiled_rule, "softmax of the logits"});
  }
  const Tensor mask = allocate(tokens, DType::boolean, {&compiled_rule, "mask of other ranks' targets"});
  const Tensor targets = allocate(tokens, DType::int64, {&compiled_rule, "masked targets"});
  Tensor loss = allocate(tokens, DType::float32, {&compiled_rule, "loss of each token"});
  keep(node, softmax);
  keep(node, mask);
  keep(node, targets);
  if (node)
    node->backward = [dtype = logits.dtype()](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor gradient = allocate(kept.shape(), DType::float32, {&compiled_rule, "gradient of the logits"});
      b.give(0, allocate(kept.shape(), dtype, {&compiled_rule, "gradient of the logits"}));
    };
  finish_node(node, loss);
  return loss;
}

Tensor fused_cross_entropy(Tensor argument, const Tensor& /*labels*/, Size t) {
  const Tensor logits = std::move(argument);
  const Ref<Node> node = begin_node(fused_rule, {&logits});
  const Size n = logits.size(0) * logits.size(1);
  Tensor loss = allocate({logits.size(0), logits.size(1)}, DType::float32, {&fused_rule, "loss of each token"});
  const Tensor statistics = allocate({n, 3}, DType::float32, {&fused_rule});
  const Tensor gathered = allocate({n, 3, t}, DType::float32, {&fused_rule});
  keep(node, logits);
  if (node) node->backward = [](Backward& b) { b.give(0, b.kept(0)); };
  finish_node(node, loss);
  return loss;
}

Tensor masked_mean(Tensor argument, const Tensor& loss_mask) {
  const Tensor losses = std::move(argument);
  const Ref<Node> node = begin_node(mean_rule, {&losses});
  keep(node, loss_mask);
  { const Tensor masked = allocate(losses.shape(), DType::float32, {&mean_rule}); }
  Tensor loss = allocate({}, DType::float32, {&mean_rule, "loss"});
  if (node)
    node->backward = [shape = losses.shape()](Backward& b) {
      const Tensor mask = b.kept(0);
      b.give(0, allocate(shape, DType::float32, {&mean_rule}));
    };
  finish_node(node, loss);
  return loss;
}

}  // namespace trainmem::megatron
