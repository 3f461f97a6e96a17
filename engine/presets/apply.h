// Presets as the configurations that they describe.
#pragma once

#include <string_view>

#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

/// A preset's fields over the defaults, found as find_preset does; unknown ids become issues with the nearest ids.
void apply_model_preset(std::string_view name, Config& config, Issues& issues);
void apply_gpu_preset(std::string_view id, Config& config, Issues& issues);
void apply_recipe_preset(std::string_view id, Config& config, Issues& issues);

/// Of a configuration that names no model: the model of its recipe preset, and the GPU too unless one is given. Without
/// any, an issue. Is the model known now?
bool take_model_of_recipe(std::string_view recipe, bool gpu_given, Config& config, Issues& issues);

/// What the named presets and defaults say: the configuration whose fields need not be written.
Config base_of(const Config& config);

}  // namespace trainmem
