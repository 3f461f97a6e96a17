// MPT as llm-foundry writes it: llmfoundry/models/mpt/modeling_mpt.py and layers/ (8c8dd48f), with flash-attn 2.7.4.
#pragma once

#include <memory>

#include "engine/blocks/architecture.h"

namespace trainmem::llm_foundry {

/// Whether llm-foundry has a forward for it: MPT with learned positions, ALiBi or none.
bool describes(const Model& model);

std::unique_ptr<Architecture> make_mpt(const Model& model, DType weights);

}  // namespace trainmem::llm_foundry
