// RoPE of GPT-J and CodeGen: neighbouring channels are a pair.
#pragma once

#include "engine/blocks/transformers/parts.h"

namespace trainmem::transformers {

/// models/gptj/modeling_gptj.py: apply_rotary_pos_emb. x is (b, s, a, turning); sin and cos are (1, s, turning / 2).
Tensor turn_neighbours(const Tensor& x, const Tensor& sin, const Tensor& cos);

}  // namespace trainmem::transformers
