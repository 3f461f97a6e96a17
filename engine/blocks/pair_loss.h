// Losses that rank a chosen sequence over a rejected one, of b chosen sequences and then b rejected ones.
//
// Source: TRL f2cd5771 trainer/reward_trainer.py: RewardTrainer.compute_loss; experimental/orpo/orpo_trainer.py and
// experimental/cpo/cpo_trainer.py: concatenated_forward, get_batch_logps, get_batch_loss_metrics.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// (2b, s, 1) scores of all tokens to (2b, 1), of the last token. transformers modeling_layers.py:
/// GenericForSequenceClassification.
Tensor score_of_last_token(Tensor scores);

/// Cross-entropy of the chosen half's logits, whose copy without the last position it makes.
Tensor chosen_cross_entropy(const Tensor& logits, const Tensor& labels);

/// Sums or means over each sequence's completion: (2b).
Tensor completion_log_probabilities(const Tensor& logits, const Tensor& labels);

/// Of one number for each sequence.
Tensor ranking_loss(const Tensor& of_sequences);

}  // namespace trainmem
