// The router of Phi-3.5-MoE: two experts for each token, each chosen and weighted by a rule of its own.
#pragma once

#include "engine/blocks/transformers/experts.h"

namespace trainmem::transformers {

/// A tensor times random numbers of its own size, in place; the numbers are kept.
Tensor jittered(Tensor x);

/// models/phimoe/modeling_phimoe.py: sparsemixer, in training.
Routing sparse_mixer(const Tensor& logits);

}  // namespace trainmem::transformers
