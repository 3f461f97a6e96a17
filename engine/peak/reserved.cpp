#include "engine/peak/reserved.h"

#include <algorithm>

#include "engine/config/deepspeed.h"
#include "engine/peak/peak.h"
#include "engine/tape/expand.h"
#include "engine/training/step.h"

namespace trainmem {
namespace {

Recording record_whole(const Config& config, std::int64_t stage) {
  return run_training(config, {.short_accumulation = true, .stage = stage});
}

/// The first or the last stage, with the embedding or the head, that allocates at least nine tenths of the worst one's
/// bytes beside it, and the most of such; null: neither does.
const Stage* near_the_worst(const std::vector<Stage>& stages) {
  const auto worst = std::find_if(stages.begin(), stages.end(), [](const Stage& stage) { return stage.worst; });
  const Stage* found = nullptr;
  for (const Stage* stage : {&stages.front(), &stages.back()}) {
    if (stage->worst || stage->allocated < worst->allocated - worst->allocated / 10) continue;
    if (found == nullptr || stage->allocated > found->allocated) found = stage;
  }
  return found;
}

}  // namespace

// Pipelines fold micro-batches that a whole recording has.
Recording whole_recording(const Config& config, std::int64_t stage, const Recording& folded) {
  Recording tape;
  const bool folds_micro_batches = config.recipe.pipeline_parallel > 1 ||
                                   config.recipe.framework == Framework::megatron ||
                                   uses_megatron_deepspeed(config.recipe);
  if (!folds_micro_batches && expand(folded, tape)) return tape;
  return record_whole(config, stage);
}

ReservingGpus::ReservingGpus(const Config& config, const std::vector<Stage>& stages, const Recording& worst)
    : worst_(worst) {
  if (const Stage* other = near_the_worst(stages)) other_ = record_whole(config, other->index);
  options_.allocator.expandable_segments = config.recipe.expandable_segments;
  options_.handle_workspace = workspace_beside(config) / 2;
  options_.runs_ahead = true;
}

Replay ReservingGpus::replay(Bytes limit) const {
  ReplayOptions options = options_;
  options.allocator.limit = limit;
  const Replay of_worst = worst_replay(worst_, options);
  if (!other_) return of_worst;
  const Replay of_other = worst_replay(*other_, options);
  return is_worse(of_other, of_worst) ? of_other : of_worst;
}

}  // namespace trainmem
