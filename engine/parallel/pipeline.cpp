#include "engine/parallel/pipeline.h"

#include <algorithm>

#include "engine/tensor/run.h"

namespace trainmem {

std::vector<PipelineStage> pipeline_stages(const Recipe& recipe, std::int64_t layers) {
  const std::int64_t stages = std::max<std::int64_t>(recipe.pipeline_parallel, 1);
  const std::int64_t named_first = stages > 1 ? recipe.pipeline_first_stage_layers : 0;
  const std::int64_t named_last = stages > 1 ? recipe.pipeline_last_stage_layers : 0;
  const std::int64_t sharing = stages - (named_first > 0 ? 1 : 0) - (named_last > 0 ? 1 : 0);
  const std::int64_t shared = layers - named_first - named_last;
  std::vector<PipelineStage> result;
  std::int64_t first_layer = 0;
  std::int64_t sharer = 0;
  for (std::int64_t i = 0; i < stages; ++i) {
    PipelineStage stage;
    stage.index = i;
    stage.first = i == 0;
    stage.last = i == stages - 1;
    stage.first_layer = first_layer;
    if (stage.first && named_first > 0) {
      stage.layers = named_first;
    } else if (stage.last && named_last > 0) {
      stage.layers = named_last;
    } else {
      stage.layers = shared / sharing + (sharer < shared % sharing ? 1 : 0);
      ++sharer;
    }
    first_layer += stage.layers;
    stage.micro_batches_in_flight = std::min(stages - i, recipe.gradient_accumulation_steps.value());
    result.push_back(stage);
  }
  return result;
}

void one_forward_one_backward(const PipelineStage& stage, std::int64_t stages, std::int64_t micro_batches, bool fold,
                              const std::function<void()>& forward, const std::function<void()>& backward) {
  const std::int64_t warm_up = std::min(stages - stage.index - 1, micro_batches);
  const std::int64_t steady = micro_batches - warm_up;
  const auto repeat = [](std::int64_t count, const std::function<void()>& turn) {
    if (count == 0) return;
    const Repeat scope{Size(count)};
    turn();
  };
  const auto turn = [&] {
    forward();
    backward();
  };
  if (fold) {
    // The first backward has no gradients of an earlier one to let go of, so it stands for itself.
    if (steady == 0) forward();
    repeat(steady == 0 ? warm_up - 1 : warm_up, forward);
    if (steady > 0) {
      turn();
      repeat(steady - 1, turn);
    } else {
      backward();
    }
    repeat(steady == 0 ? warm_up - 1 : warm_up, backward);
    return;
  }
  for (std::int64_t i = 0; i < warm_up; ++i) forward();
  for (std::int64_t i = 0; i < std::min(steady, longest_steady); ++i) turn();
  for (std::int64_t i = 0; i < warm_up; ++i) backward();
}

}  // namespace trainmem
