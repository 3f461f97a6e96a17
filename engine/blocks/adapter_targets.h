// Which layers' weights get an adapter.
#pragma once

#include <string>

#include "engine/config.h"

namespace trainmem {

/// Whether gate, up and down mean the stacked weights of a model's routed experts: there peft adapts these, and no
/// other MLP. peft 0.20 utils/transformers_weight_conversion.py, _convert_peft_config_moe.
bool adapts_stacked_experts(const Config& config);

/// The recipe's words of layers that have an adapter, "q,v"; of stacked experts "expert gate" and so on, and "router"
/// where "other" means the stack's router.
std::string adapter_targets(const Config& config);

}  // namespace trainmem
