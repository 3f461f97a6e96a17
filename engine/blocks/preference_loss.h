// The loss of preference tuning, of a policy's and a reference's logits, and the metrics that are made with it.
//
// Logits are (2b, s, vocabulary): b chosen sequences, then b rejected ones. Source: TRL f2cd5771
// trainer/dpo_trainer.py: DPOTrainer._compute_loss; trainer/utils.py: selective_log_softmax, entropy_from_logits.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// Log-probabilities of the tokens that follow, (2b, s - 1), those outside the completions set to zero. `ids` and
/// `completion_mask` are (2b, s).
Tensor token_log_probabilities(const Tensor& logits, const Tensor& ids, const Tensor& completion_mask);

/// Their sums, one for each sequence: (2b).
Tensor sequence_log_probabilities(const Tensor& tokens);

/// -log sigmoid of the chosen sequences' advantage, meant over the pairs. `reference`: of the reference model.
Tensor preference_loss(const Tensor& policy, const Tensor& reference);

/// What the trainer reads from the policy's logits for its log: entropy, mean logits, accuracy. All completions are
/// taken to fill their sequences.
void preference_metrics(const Tensor& logits);

/// The same of sequences without pairs, of which half are taken to be wanted.
void unpaired_metrics(const Tensor& logits);

}  // namespace trainmem
