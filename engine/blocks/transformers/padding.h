// Batches that are padded: what is done with the mask of tokens where no mask of attention is made of it.
#pragma once

#include "engine/tensor/ops.h"

namespace trainmem::transformers {

/// apply_mask_to_padding_states: states (b, s, width) of padded tokens become zero. Without padding: as they are.
Tensor without_padding(const Tensor& states);

/// The mask (b, s) of tokens that a model was given, or the ones that it makes itself.
Tensor attended_tokens(const Tensor& ids, const Rule& rule);

/// flash_attention_2 of tokens that are no padding, taken out of the batch and put back into one of zeros; as many as
/// if there were no padding. q (b, a, s, d), k and v (b, k, s, d); the result is (b, s, a, d).
Tensor unpadded_attention(const Tensor& q, const Tensor& k, const Tensor& v, ScaledDotProduct call);

}  // namespace trainmem::transformers
