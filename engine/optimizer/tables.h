// The two tables behind facts.h.
#pragma once

#include "engine/optimizer/facts.h"

namespace trainmem {

/// `how` is one that the optimizer has: see implementation_of().
std::span<const StateLine> state_table(Optimizer optimizer, OptimizerImplementation how);
std::span<const StepLine> step_table(Optimizer optimizer, OptimizerImplementation how);

}  // namespace trainmem
