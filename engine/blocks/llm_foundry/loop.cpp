#include "engine/blocks/llm_foundry/loop.h"

#include <utility>

#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem::llm_foundry {

namespace {

constexpr Rule batch_rule{"input", "what the micro-batch holds beside tokens and labels, and its copy for metrics",
                          "composer trainer/trainer.py: _train_microbatch"};
constexpr Rule targets_rule{"labels", "shifted labels: the backward of the loss needs them",
                            "llm-foundry llmfoundry/models/mpt/modeling_mpt.py: get_targets"};
constexpr Rule loss_rule{"fused cross entropy", "logits and their log-sum-exp: the backward of the loss needs them",
                         "flash-attention flash_attn/ops/triton/cross_entropy.py: CrossEntropyLoss"};
constexpr Rule metric_rule{"training metrics", "", "composer metrics/nlp.py: LanguageCrossEntropy.update"};
constexpr Rule accuracy_rule{"training metrics", "",
                             "llm-foundry llmfoundry/metrics/token_acc.py: TokenAccuracy.update"};

Tensor losses_of_rows(Tensor argument, const Tensor& labels) {
  const Tensor logits = std::move(argument);
  const Ref<Node> node = begin_node(loss_rule, {&logits});
  keep(node, logits);
  keep(node, labels);
  const Shape rows{logits.size(0)};
  Tensor losses = allocate(rows, DType::float32, {&loss_rule, "losses"});
  keep(node, allocate(rows, DType::float32, {&loss_rule, "log-sum-exp"}));
  allocate(rows, DType::float32, {&loss_rule, "losses of the log-sum-exp"});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(kept.shape(), kept.dtype(), {&loss_rule, "gradient of logits"}));
    };
  finish_node(node, losses);
  return losses;
}

Tensor part_of_batch(const Recipe& recipe, const char* role) {
  Tensor part = allocate({recipe.micro_batch_size, recipe.sequence_length}, DType::int64, {&batch_rule, role});
  note_kept(part, batch_rule);
  return part;
}

}  // namespace

Tensor attention_mask(const Recipe& recipe) { return part_of_batch(recipe, "attention mask"); }

std::vector<Tensor> copy_of_batch(const Recipe& recipe) {
  std::vector<Tensor> copies;
  for (const char* role : {"copy of token ids", "copy of labels", "copy of the attention mask"})
    copies.push_back(part_of_batch(recipe, role));
  return copies;
}

Tensor fused_loss(const Tensor& logits, const Tensor& labels) {
  const Tensor targets = allocate(labels.shape(), DType::int64, {&targets_rule, "shifted labels"});
  const Shape rows{labels.elements(), logits.size(-1)};
  const Tensor losses = losses_of_rows(view(logits, rows), targets);
  return scalar_operation(sum(losses, 0));
}

// log_softmax is asked for the logits' own format, nll_loss is of autocast's fp32 list.
void evaluate_metrics(const Tensor& logits, const Tensor& labels) {
  const Place place("metrics", Component::logits_and_loss);
  for (int metric = 0; metric < 2; ++metric) {
    const Tensor probabilities = allocate(logits.shape(), logits.dtype(), {&metric_rule, "log-probabilities"});
    if (is_half(logits.dtype())) allocate(logits.shape(), DType::float32, {&metric_rule, "log-probabilities in fp32"});
  }
  const Tensor predicted = allocate(labels.shape(), DType::int64, {&accuracy_rule, "predicted tokens"});
  const Tensor counted = allocate(labels.shape(), DType::boolean, {&accuracy_rule});
  const Tensor wanted = allocate(labels.shape(), DType::int64, {&accuracy_rule});
  allocate(labels.shape(), DType::int64, {&accuracy_rule});
}

}  // namespace trainmem::llm_foundry
