// What a micro-batch is given.
#pragma once

#include "engine/config.h"
#include "engine/tape/rule.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

inline constexpr Rule input_rule{"input", "token ids and labels of the batch", "the training loop"};

/// An integer for each token of a micro-batch.
Tensor make_tokens(const Recipe& recipe, const char* role);

}  // namespace trainmem
