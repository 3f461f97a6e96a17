// Fully sharded data parallelism: which of PyTorch's two implementations a recipe runs, and how it is set up.
#pragma once

#include <memory>

#include "engine/config.h"
#include "engine/parallel/module_wrapper.h"

namespace trainmem {

/// FSDP1 or FSDP2 around the model that the active run makes next; its settings are in force. Null where one GPU holds
/// everything and the framework then does without.
std::unique_ptr<ModuleWrapper> make_fsdp(const Config& config);

}  // namespace trainmem
