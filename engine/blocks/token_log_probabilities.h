// Log-probabilities of chosen tokens and entropies of logits (sequences, tokens, vocabulary), as TRL's trainers take
// them.
//
// Source: TRL f2cd5771 trainer/utils.py: selective_log_softmax, entropy_from_logits.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// The log-probability of one token at each place: (sequences, tokens). `index`: (sequences, tokens, 1), the tokens.
Tensor selective_log_softmax(const Tensor& logits, const Tensor& index);

/// Without autograd, in chunks of 128 rows: (sequences, tokens).
Tensor entropy_from_logits(const Tensor& logits);

}  // namespace trainmem
