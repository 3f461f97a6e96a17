// The highest moment of a step alone, with components: the fast path that advice and plans take.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/config.h"
#include "engine/result.h"
#include "engine/tape/fold.h"

namespace trainmem {

struct Peak {
  Bytes allocated = 0;
  ComponentBytes components{};
  Phase phase = Phase::initialise;
};

/// The highest of all pipeline stages, with workspaces. The configuration is valid and modelled.
Peak estimate_peak(const Config& config);

/// The peak of one pipeline stage's tape, folded.
Peak stage_peak(const Config& config, std::int64_t stage);

/// cuBLAS workspaces that are not on the tape; Megatron's stages have theirs there.
Bytes workspace_beside(const Config& config);

/// The highest peak among the stages that may have it, as peak_of_stage(index) finds them, with a workspace beside.
template <class PeakOfStage>
Peak highest_stage(const Config& config, Bytes workspace, PeakOfStage peak_of_stage) {
  const std::int64_t stages = config.recipe.pipeline_parallel > 1 ? config.recipe.pipeline_parallel : 1;
  Peak result;
  // Stages between the second and the last but one hold no more than these: what a stage holds changes steadily.
  std::int64_t before = -1;
  for (const std::int64_t stage : {std::int64_t{0}, std::int64_t{1}, stages - 2, stages - 1}) {
    if (stage <= before || stage >= stages) continue;
    before = stage;
    const Peak peak = peak_of_stage(stage);
    if (peak.allocated > result.allocated) result = peak;
  }
  result.allocated += workspace;
  result.components[Component::workspace] += workspace;
  return result;
}

}  // namespace trainmem
