// Cross entropy of a causal language model's logits, as the models and their recipes compute it.
#pragma once

#include <vector>

#include "engine/tensor/tensor.h"

namespace trainmem {

/// logits (b, s, vocabulary), labels (b, s); each result is one number.
/// transformers loss/loss_utils.py: ForCausalLMLoss.
Tensor causal_loss(Tensor logits, const Tensor& labels);

/// x[..., :-1, :].contiguous() of x (b, s, channels), as losses of models before transformers 4.46 shift.
Tensor without_last(const Tensor& x, const char* role);

/// Models before transformers 4.46: their output is an fp32 copy of the logits, their loss that of a contiguous copy
/// without the last position. `logits` becomes that copy. models/llama/modeling_llama.py of that time:
/// LlamaForCausalLM.forward.
Tensor legacy_loss(Tensor& logits, const Tensor& labels, bool fused);

/// The same of logits in their own format.
Tensor shifted_loss(const Tensor& logits, const Tensor& labels, bool fused = false);

/// The loss compiled: the cast, the softmax and the choice of the label are one kernel.
Tensor compiled_loss(Tensor logits, const Tensor& labels);

/// torchtune modules/loss/ce_chunked_output_loss.py: each chunk in fp32, one after another. `chunks` are
/// logits of parts of the sequence, and none are left.
Tensor chunked_loss(std::vector<Tensor>& chunks, bool compiled);

}  // namespace trainmem
