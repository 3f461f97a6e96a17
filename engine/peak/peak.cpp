#include "engine/peak/peak.h"

#include "engine/runtime.h"
#include "engine/training/step.h"

namespace trainmem {

Bytes workspace_beside(const Config& config) {
  return config.recipe.framework == Framework::megatron ? 0 : cublas_workspace(config);
}

Peak stage_peak(const Config& config, std::int64_t stage) {
  const std::vector<FoldedPhase> folded = fold(run_training(config, {.fold = true, .stage = stage}));
  const FoldedPhase& peak = highest(folded);
  return {peak.peak.total, peak.peak.components, peak.phase};
}

Peak estimate_peak(const Config& config) {
  return highest_stage(config, workspace_beside(config), [&](std::int64_t stage) { return stage_peak(config, stage); });
}

}  // namespace trainmem
