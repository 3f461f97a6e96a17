// What the data loader gives one forward.
#pragma once

#include "engine/dtype.h"
#include "engine/tensor/tensor.h"

namespace trainmem::megatron {

struct MicroBatch {
  Tensor ids;
  Tensor labels;
  Tensor loss_mask;
  Tensor position_ids;
};

/// A tensor of the micro-batch, (sequences, tokens of this GPU).
Tensor make_input(Size sequences, Size tokens, DType dtype, const char* role);

/// All tensors are brought to the GPU before any is cut: of `whole_sequence` tokens a GPU keeps copies of `tokens`.
/// Source: Megatron-LM d98e8a6, pretrain_gpt.py: get_batch; megatron/core/utils.py: get_batch_on_this_cp_rank.
MicroBatch make_micro_batch(Size sequences, Size whole_sequence, Size tokens);

}  // namespace trainmem::megatron
