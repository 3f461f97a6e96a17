// The list of all presets and fields that the page builds its controls from.
#pragma once

#include <string>

namespace trainmem {

/// {"models":[...],"gpus":[...],"recipes":[...],"fields":[...]}
std::string write_preset_list();

}  // namespace trainmem
