// A recorded case's `model` and `config` as a Config.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/config.h"
#include "engine/presets/huggingface/config.h"

namespace trainmem {

/// A parsed config.json: scalars as they are, nested objects with dots, lists left out.
HuggingFaceConfig huggingface_config(const nlohmann::json& json);

/// Fills `config` from a case, and whether KeepsLastBlock held; returns why that is not possible, or nothing.
std::string translate_case(const nlohmann::json& trace_case, Config& config, bool& keeps_last_block);

}  // namespace trainmem
