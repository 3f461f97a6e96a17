// DeepSeek V3's block as torchtitan writes it: models/deepseek_v3/model.py, models/common/moe.py.
#pragma once

#include <memory>

#include "engine/blocks/torchtitan/form.h"
#include "engine/blocks/transformers/parts.h"

namespace trainmem::torchtitan {

std::unique_ptr<Block> make_deepseek_block(const Model& model, DType dtype, const Form& form, std::int64_t layer);

}  // namespace trainmem::torchtitan
