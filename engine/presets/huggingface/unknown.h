// Part of reading a config.json: a model_type whose forward is not known.
#pragma once

#include <string>

#include "engine/issue.h"

namespace trainmem {

/// The issue of an unknown model_type: why it is not modelled, and which one is near.
Issue unknown_model_type(const std::string& model_type);

}  // namespace trainmem
