// The loss of today's torchtitan: head, cross entropy and their backward, one eighth of the tokens after another.
// Source: pytorch/torchtitan b5bcd76c, torchtitan/components/loss.py (ChunkedLossWrapper, GradAccumulator).
#pragma once

#include <functional>

#include "engine/tensor/tensor.h"

namespace trainmem::torchtitan {

inline constexpr std::int64_t num_chunks = 8;  ///< ChunkedLossWrapper.Config; tokens have to be a multiple of it

/// Logits of a part of the tokens.
using HeadOfPart = std::function<Tensor(Tensor part, bool last)>;

/// hidden (1, tokens, hidden), the final norm's result. The loss has the parts' gradients, put together, as that of
/// `hidden`. `end_parts` is called when the last part has had its backward.
Tensor loss_of_parts(const Tensor& hidden, const HeadOfPart& head, bool compiled,
                     const std::function<void()>& end_parts);

}  // namespace trainmem::torchtitan
