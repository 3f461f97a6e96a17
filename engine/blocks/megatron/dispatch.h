// How Megatron-Core sends tokens to their experts and back: operations on rows of tokens.
// Source: Megatron-LM megatron/core/transformer/moe: token_dispatcher.py (MoEAlltoAllTokenDispatcher), moe_utils.py.
#pragma once

#include "engine/tensor/ops.h"

namespace trainmem::megatron {

/// Scores of the chosen experts among zeros: (tokens, experts).
Tensor scatter_scores(Tensor scores, const Tensor& chosen, Size experts);
/// The scores that are not zero, in the order of the permuted rows: (rows).
Tensor select_scores(Tensor scores, Size rows);
/// `rows` rows from other ranks in exchange for these.
Tensor all_to_all(Tensor x, Size rows, const char* role);
/// The rows in another order: a copy, forward and backward.
Tensor reorder(Tensor x, const char* role);
/// Rows of all tensor-parallel ranks of the experts, and this rank's part of their sum.
Tensor gather_rows(Tensor x, Size ranks);
/// The same into the global memory buffer: nothing is allocated.
Tensor gather_in_buffer(Tensor x, Size ranks);
Tensor reduce_rows(Tensor x, Size ranks);
/// swiglu(x) times a number for each row, in one kernel.
Tensor weighted_swiglu(Tensor x, const Tensor& weights);

}  // namespace trainmem::megatron
