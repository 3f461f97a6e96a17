// litgpt/utils.py (v0.5.13): chunked_cross_entropy.
#pragma once

#include <vector>

#include "engine/tensor/ops.h"

namespace trainmem::litgpt {

/// Tokens of a chunk of the loss, and of the head in litgpt/finetune/lora.py.
inline constexpr std::int64_t chunk_size = 128;

/// Of the logits of every token (b, s, vocabulary): the last one predicts nothing.
Tensor loss_of_chunks(const Tensor& logits, const Tensor& labels);
/// Of logits that the head makes in chunks of the sequence. Cuts the last token off, in the list itself.
Tensor loss_of_head_chunks(std::vector<Tensor>& logits, const Tensor& labels);
/// In one piece: litgpt/pretrain.py has labels for every token.
Tensor loss_of_whole(const Tensor& logits, const Tensor& labels);

}  // namespace trainmem::litgpt
