// What llm-foundry's training loop allocates beside the model: Composer's trainer, and the loss that it is given.
// composer trainer/trainer.py (64051888); llmfoundry/models/mpt/modeling_mpt.py; flash-attn 2.7.4.
#pragma once

#include <vector>

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem::llm_foundry {

/// The attention mask of a micro-batch, beside its tokens and labels.
Tensor attention_mask(const Recipe& recipe);

/// A copy of the micro-batch, which metrics are given: _train_microbatch.
std::vector<Tensor> copy_of_batch(const Recipe& recipe);

/// Cross entropy of (b, s, vocabulary) logits by flash-attn's kernel, in the logits' own format; a scalar.
/// modeling_mpt.py: compute_loss_from_logits; flash_attn/ops/triton/cross_entropy.py.
Tensor fused_loss(const Tensor& logits, const Tensor& labels);

/// Cross entropy, perplexity and accuracy of the logits after backward, under autocast: _eval_train_metrics;
/// composer/metrics/nlp.py; llmfoundry/metrics/token_acc.py.
void evaluate_metrics(const Tensor& logits, const Tensor& labels);

}  // namespace trainmem::llm_foundry
