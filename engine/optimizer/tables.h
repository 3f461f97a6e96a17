// The tables behind facts.h: each library's in a file of its own.
#pragma once

#include "engine/optimizer/facts.h"

namespace trainmem {

constexpr StepLine make(int slot, Extent extent, Format format, Only only, Rule rule) {
  return {StepAction::make, static_cast<std::int8_t>(slot), -1, extent, format, only, rule};
}
constexpr StepLine drop(int slot, Only only = Only::all) {
  return {StepAction::drop, static_cast<std::int8_t>(slot), -1, Extent::full, Format::state, only, {}};
}
constexpr StepLine move(int slot, int from, Only only = Only::all) {
  return {StepAction::move,
          static_cast<std::int8_t>(slot),
          static_cast<std::int8_t>(from),
          Extent::full,
          Format::state,
          only,
          {}};
}

struct OptimizerTables {
  std::span<const StateLine> states{};
  std::span<const StepLine> lines{};
};

/// `how` is one that the optimizer has: see implementation_of(). torch.optim, transformers, lion-pytorch.
std::span<const StateLine> state_table(Optimizer optimizer, OptimizerImplementation how);
std::span<const StepLine> step_table(Optimizer optimizer, OptimizerImplementation how);

/// bitsandbytes, whose kernels allocate nothing.
std::span<const StateLine> bitsandbytes_states(Optimizer optimizer);
std::span<const StepLine> bitsandbytes_lines(Optimizer optimizer);
/// torchao, whose step is compiled tensor by tensor.
std::span<const StateLine> torchao_states(Optimizer optimizer);
/// schedulefree; CAME; Sophia.
OptimizerTables schedule_free_tables(Optimizer optimizer, OptimizerImplementation how);
OptimizerTables came_tables();
OptimizerTables sophia_tables();
/// GaLore and APOLLO, with their AdamW for what is not projected.
OptimizerTables low_rank_tables(OptimizerPart part);

}  // namespace trainmem
