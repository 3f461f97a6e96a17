// Arithmetic of the operations that run, and the memory traffic that no allocation shows.
//
// A note stands before the allocation of its operation, so that it repeats with it. A product of (m, k) by (k, n)
// counts 2mkn operations; softmax, norms and other pointwise work are not counted, as in the published counts
// (Narayanan et al. 2021, arXiv:2104.04473, appendix; Chowdhery et al. 2022, arXiv:2204.02311, appendix B).
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

enum class Pass : std::uint8_t { forward, backward };

/// `rows` vectors times a weight, which is read once.
void note_linear(Pass pass, const Size& rows, const Size& weight_elements, const Size& weight_bytes);

/// Backward of the same: the gradients of the input, which reads the weight, and of the weight.
void note_linear_backward(const Size& rows, const Size& weight_elements, const Size& weight_bytes, bool input,
                          bool weight);

/// Products (m, k) by (k, n), `batch` of them.
void note_products(Pass pass, const Size& batch, const Size& m, const Size& k, const Size& n);

/// One fused attention kernel over q (b, a, s, d) and k (b, *, t, d). `causal`: pairs above the diagonal are skipped,
/// so s (s + 1) / 2 of them are computed, and fewer in a sliding window. Backward: five products, one of which computes
/// the scores again (Dao et al. 2022, arXiv:2205.14135, algorithm 4).
struct AttentionSizes {
  Size batch;
  Size heads;
  Size queries;
  Size keys;
  Size width;
  bool causal = true;
  std::int64_t window = 0;  ///< keys that a query sees; 0: all
};
void note_attention(Pass pass, const AttentionSizes& sizes);

/// Bytes read and written beside what is allocated.
void note_traffic(Pass pass, Component component, const Size& bytes);

}  // namespace trainmem
