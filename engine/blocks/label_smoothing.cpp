#include "engine/blocks/label_smoothing.h"

#include <utility>

#include "engine/blocks/causal_loss.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* source = "transformers trainer_pt_utils.py: LabelSmoother";
constexpr Rule labels_rule{"labels", "labels without those of padding: the log-probabilities are gathered by them",
                           source};
constexpr Rule mask_rule{"mask of padding", "tokens without a label: their losses are set to zero", source};
constexpr Rule sum_rule{"smoothed loss", "", source};
constexpr Rule loss_rule{"loss", "", source};

/// x.sum(dim=-1, keepdim=True, dtype=torch.float32): its gradient is the same for the whole vocabulary.
Tensor sum_in_fp32(const Tensor& x) {
  const Ref<Node> node = begin_node(sum_rule, {&x});
  Shape one = x.shape();
  one[-1] = 1;
  Tensor result = allocate(one, DType::float32, {&sum_rule});
  if (node)
    node->backward = [full = x.shape(), dtype = x.dtype()](Backward& b) {
      const Tensor wide = expand(b.take_gradient(), full);
      b.give(0, dtype == DType::float32 ? wide : allocate(full, dtype, {&sum_rule}));
    };
  finish_node(node, result);
  return result;
}

/// Both losses without padding, their means, and what is between the two.
Tensor smoothed(const Tensor& of_labels, const Tensor& of_vocabulary, const Tensor& padding) {
  const Ref<Node> node = begin_node(loss_rule, {&of_labels, &of_vocabulary});
  keep(node, padding);
  Tensor loss = allocate({}, DType::float32, {&loss_rule, "loss"});
  if (node)
    node->backward = [shape = of_labels.shape(), dtype = of_labels.dtype()](Backward& b) {
      b.give(1, allocate(shape, DType::float32, {&loss_rule}));
      b.give(0, allocate(shape, dtype, {&loss_rule}));
    };
  finish_node(node, loss);
  return loss;
}

}  // namespace

Tensor label_smoothing_loss(const Tensor& logits, const Tensor& labels) {
  const Tensor shifted = without_last(logits, "shifted logits");
  const Shape of_tokens{labels.size(0), labels.size(1) - Size(1), 1};
  const Tensor targets = allocate(of_tokens, DType::int64, {&labels_rule});
  const Tensor log_probabilities = negate(log_softmax(shifted));
  const Tensor padding = allocate(of_tokens, DType::boolean, {&mask_rule, "mask"});
  const Tensor clamped = allocate(of_tokens, DType::int64, {&labels_rule});
  const Tensor of_labels = gather(log_probabilities, clamped);
  const Tensor of_vocabulary = sum_in_fp32(log_probabilities);
  return smoothed(of_labels, of_vocabulary, padding);
}

}  // namespace trainmem
