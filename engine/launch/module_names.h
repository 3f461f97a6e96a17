// Names of linear layers, as peft and torchtune take them.
#pragma once

#include <string_view>

namespace trainmem {

/// The words of lora.targets for layers that classes of transformers and torchtune call `module`: some are several of
/// ours in one. Empty: not known.
std::string_view projections_of_module(std::string_view module, std::string_view model_type);

}  // namespace trainmem
