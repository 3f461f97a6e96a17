#include "engine/peak/stage_runs.h"

#include <algorithm>
#include <utility>

#include "engine/config/deepspeed.h"
#include "engine/parallel/pipeline.h"
#include "engine/parameters/parameters.h"
#include "engine/parameters/trained_model.h"
#include "engine/peak/peak.h"
#include "engine/tape/fold.h"
#include "engine/training/megatron.h"
#include "engine/training/megatron_deepspeed.h"
#include "engine/training/step.h"

namespace trainmem {
namespace {

/// Parameters of a stage's layers, with the embedding on the first one and the head on the last.
std::int64_t stage_parameters(const Config& config, const PipelineStage& stage) {
  if (config.recipe.framework == Framework::megatron) return megatron_parameters(config, stage.index);
  if (uses_megatron_deepspeed(config.recipe)) return megatron_deepspeed_parameters(config, stage.index);
  if (config.recipe.pipeline_parallel == 1) return parameter_count(trained_model(config));
  std::int64_t sum = 0;
  for (const PipelineChunk& chunk : stage.chunks) {
    if (chunk.first) sum += count(embedding_parameters(config.model));
    for (std::int64_t i = 0; i < chunk.layers; ++i)
      sum += count(layer_parameters(config.model, layer_kind(config.model, chunk.first_layer + i)));
    if (chunk.last) sum += count(final_parameters(config.model));
  }
  return sum;
}

/// A pipeline stage by the fold of its tape.
Stage stage_by_fold(const Config& config, const PipelineStage& part, StageRuns& runs, Bytes enough) {
  const Bytes workspace = workspace_beside(config);
  if (enough != no_limit) enough -= workspace;
  Recording tape = run_training(config, {.fold = true, .stage = part.index, .enough = enough});
  const std::vector<FoldedPhase> folded = fold(tape);
  const Alive& peak = highest(folded).peak;
  if (peak.total > runs.folded_peak) {
    runs.folded = std::move(tape);
    runs.folded_stage = part.index;
    runs.folded_peak = peak.total;
  }
  Stage stage;
  stage.index = part.index;
  stage.layers = part.layers;
  stage.micro_batches_in_flight = part.micro_batches_in_flight;
  stage.parameters = stage_parameters(config, part);
  stage.allocated = peak.total + workspace;
  stage.components = peak.components;
  stage.components[Component::workspace] += workspace;
  return stage;
}

/// Stages between two that were run, if all hold as many layers and the third lies on the line through the first
/// two. A stage's peak is the highest of moments that each grow with the micro-batches in flight, so it is convex in
/// them: on a line at three places means on it between them.
bool fill_line(std::vector<Stage>& stages, std::size_t first, std::size_t last) {
  const Stage& a = stages[first];
  const Stage& b = stages[first + 1];
  const Bytes slope = b.allocated - a.allocated;
  const auto steps = static_cast<std::int64_t>(last - first);
  const std::int64_t fewer = a.micro_batches_in_flight - b.micro_batches_in_flight;
  for (std::size_t i = first; i <= last; ++i) {
    if (stages[i].layers != a.layers) return false;
    if (i > first && stages[i - 1].micro_batches_in_flight - stages[i].micro_batches_in_flight != fewer) return false;
  }
  if (stages[last].allocated != a.allocated + steps * slope) return false;
  for (std::size_t i = first + 2; i < last; ++i) {
    const auto step = static_cast<std::int64_t>(i - first);
    stages[i].parameters = a.parameters;
    stages[i].allocated = a.allocated + step * slope;
    for (std::size_t c = 0; c < stages[i].components.size(); ++c)
      stages[i].components[c] = a.components[c] + step * (b.components[c] - a.components[c]);
  }
  return true;
}

}  // namespace

StageRuns run_stages(const Config& config, Bytes enough) {
  const std::vector<PipelineStage> parts = pipeline_stages(config.recipe, config.model.num_hidden_layers);
  StageRuns runs;
  std::vector<Stage>& stages = runs.stages;
  stages.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    stages[i].index = parts[i].index;
    stages[i].layers = parts[i].layers;
    stages[i].micro_batches_in_flight = parts[i].micro_batches_in_flight;
  }
  const std::size_t count = parts.size();
  const auto run = [&](std::size_t i) { stages[i] = stage_by_fold(config, parts[i], runs, enough); };
  if (count > 6) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}, count - 2, count - 1}) run(i);
    if (!fill_line(stages, 1, count - 2))
      for (std::size_t i = 3; i < count - 2; ++i) run(i);
  } else {
    for (std::size_t i = 0; i < count; ++i) run(i);
  }
  const auto worst = std::max_element(stages.begin(), stages.end(),
                                      [](const Stage& a, const Stage& b) { return a.allocated < b.allocated; });
  worst->worst = true;
  return runs;
}

}  // namespace trainmem
