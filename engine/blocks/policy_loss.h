// The loss of a policy on completions that it wrote, of their log-probabilities.
//
// Everything is (sequences, completion tokens). Source: TRL f2cd5771 trainer/grpo_trainer.py:
// GRPOTrainer._compute_loss, loss_type dapo; grpo, bnpo and dr_grpo keep the same.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// Logits of the completion's tokens divided by the temperature, where they are: all positions of `logits` but the
/// last, of those the last `tokens`. They are seen through a view, so backward goes through copies of the whole.
Tensor divided_by_temperature(const Tensor& logits, const Size& tokens);

/// `old`: log-probabilities of the policy that wrote; undefined: it is the same one. `reference`: of the reference
/// model; undefined: there is none. `advantages` (sequences, 1).
Tensor policy_loss(const Tensor& policy, const Tensor& old, const Tensor& reference, const Tensor& advantages,
                   const Tensor& completion_mask);

}  // namespace trainmem
