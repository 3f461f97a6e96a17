#include "engine/estimate.h"

#include <algorithm>
#include <string_view>

#include "engine/allocator.h"
#include "engine/bandwidth/bandwidth.h"
#include "engine/error_band.h"
#include "engine/modelled/not_counted.h"
#include "engine/parallel/megatron.h"
#include "engine/parallel/pipeline.h"
#include "engine/parameters/parameters.h"
#include "engine/runtime.h"
#include "engine/step.h"
#include "engine/tape_expand.h"
#include "engine/tape_fold.h"
#include "engine/tape_rows.h"
#include "engine/textbook.h"
#include "engine/verdict.h"

namespace trainmem {

namespace {

constexpr std::int32_t step_count = 2;  ///< the second is the steady state

/// The phases of initialisation and the last step, each with its highest moment.
std::vector<PhasePeak> phases_of_last_step(const std::vector<FoldedPhase>& folded, std::int32_t last_step) {
  std::vector<PhasePeak> phases;
  for (int i = 0; i < phase_count; ++i) {
    PhasePeak peak;
    peak.phase = static_cast<Phase>(i);
    bool any = false;
    for (const FoldedPhase& phase : folded) {
      if (phase.phase != peak.phase || (phase.step != 0 && phase.step != last_step)) continue;
      if (phase.step == 0 && peak.phase != Phase::initialise) continue;
      any = true;
      peak.end = phase.end.total;
      if (phase.peak.total < peak.peak) continue;
      peak.peak = phase.peak.total;
      peak.components = phase.peak.components;
    }
    if (any) phases.push_back(peak);
  }
  return phases;
}

const FoldedPhase& highest(const std::vector<FoldedPhase>& folded) {
  return *std::max_element(folded.begin(), folded.end(),
                           [](const FoldedPhase& a, const FoldedPhase& b) { return a.peak.total < b.peak.total; });
}

void add_workspace(Result& result, const Gpu& gpu) {
  const Row row = cublas_workspace_row(gpu);
  if (row.bytes == 0) return;
  result.allocated += row.bytes;
  result.components[static_cast<std::size_t>(Component::workspace)] += row.bytes;
  result.rows.push_back(row);
  for (PhasePeak& phase : result.phases) {
    if (phase.phase == Phase::initialise) continue;  // made at the first matrix product
    phase.peak += row.bytes;
    phase.end += row.bytes;
    phase.components[static_cast<std::size_t>(Component::workspace)] += row.bytes;
  }
  for (TimelinePoint& point : result.timeline) {
    if (point.phase == Phase::initialise) continue;
    point.allocated += row.bytes;
    point.components[static_cast<std::size_t>(Component::workspace)] += row.bytes;
  }
}

/// Elements of LoRA's adapters.
std::int64_t adapter_parameters(const Recording& tape) {
  std::int64_t elements = 0;
  for (const StorageRecord& storage : tape.storages) {
    if (storage.component != Component::weights || storage.role == nullptr) continue;
    if (std::string_view(storage.role).substr(0, 5) == "LoRA ") elements += storage.shape[0] * storage.shape[1];
  }
  return elements;
}

bool is_megatron(const Config& config) { return config.recipe.framework == Framework::megatron; }

/// The stages, and the folded tape of the highest of them that were run.
struct StageRuns {
  std::vector<Stage> stages;
  Recording folded;
  std::int64_t folded_stage = -1;
  Bytes folded_peak = 0;
};

/// Parameters of a stage's layers, with the embedding on the first one and the head on the last.
std::int64_t stage_parameters(const Config& config, const PipelineStage& stage) {
  if (is_megatron(config)) return megatron_parameters(config, stage.index);
  if (config.recipe.pipeline_parallel == 1) return parameter_count(config.model);
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
Stage stage_by_fold(const Config& config, const PipelineStage& part, StageRuns& runs) {
  Recording tape = run_training(config, {.steps = step_count, .fold = true, .stage = part.index});
  const std::vector<FoldedPhase> folded = fold(tape);
  const Alive& peak = highest(folded).peak;
  if (peak.total > runs.folded_peak) {
    runs.folded = std::move(tape);
    runs.folded_stage = part.index;
    runs.folded_peak = peak.total;
  }
  const Bytes workspace = workspace_beside(config);
  Stage stage;
  stage.index = part.index;
  stage.layers = part.layers;
  stage.micro_batches_in_flight = part.micro_batches_in_flight;
  stage.parameters = stage_parameters(config, part);
  stage.allocated = peak.total + workspace;
  stage.components = peak.components;
  stage.components[static_cast<std::size_t>(Component::workspace)] += workspace;
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

StageRuns all_stages(const Config& config) {
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
  const auto run = [&](std::size_t i) { stages[i] = stage_by_fold(config, parts[i], runs); };
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

/// The whole step of the stage that `folded` is of. Pipelines fold micro-batches that a whole recording has.
Recording full_recording(const Config& config, std::int64_t stage, const Recording& folded) {
  Recording tape;
  if (config.recipe.pipeline_parallel == 1 && !is_megatron(config) && expand(folded, tape)) return tape;
  return run_training(config, {.steps = step_count, .short_accumulation = true, .stage = stage});
}

std::int64_t worst_stage(const std::vector<Stage>& stages) {
  for (const Stage& stage : stages)
    if (stage.worst) return stage.index;
  return 0;
}

}  // namespace

Bytes workspace_beside(const Config& config) { return is_megatron(config) ? 0 : cublas_workspace(config.gpu); }

Result estimate(const Config& config) {
  Result result;
  StageRuns runs = all_stages(config);
  result.stages = std::move(runs.stages);
  const std::int64_t stage = worst_stage(result.stages);
  if (runs.folded_stage != stage)
    runs.folded = run_training(config, {.steps = step_count, .fold = true, .stage = stage});
  const Recording tape = full_recording(config, stage, runs.folded);
  const std::vector<FoldedPhase> folded = fold(tape);
  const FoldedPhase& peak = highest(folded);
  result.allocated = peak.peak.total;
  result.components = peak.peak.components;
  result.peak_phase = peak.phase;
  result.peak_where = name(peak.phase);
  const std::string place = place_at(tape, peak.peak_event);
  if (!place.empty()) result.peak_where += " / " + place;
  result.rows = rows_at(tape, peak.peak_event);
  result.phases = phases_of_last_step(folded, step_count);
  result.timeline = timeline(tape);
  if (!is_megatron(config)) add_workspace(result, config.gpu);

  const Bytes workspace = workspace_beside(config);
  const Bytes reserved = replay(tape, {config.recipe.expandable_segments}).peak_reserved;
  result.reserved = measured_range(reserved + workspace, error_band(config.recipe), result.allocated);
  result.runtime = runtime_rows(config);
  result.device = result.reserved;
  Bytes least = result.allocated;  // cached blocks are given back before memory runs out
  for (const RuntimeRow& row : result.runtime) {
    result.device.low += row.bytes.low;
    result.device.expected += row.bytes.expected;
    result.device.high += row.bytes.high;
    least += row.bytes.low;
  }
  result.verdict = verdict(result.device, least, config.gpu);

  result.parameters = parameter_count(config.model);
  result.active_parameters = active_parameter_count(config.model);
  result.trainable_parameters = config.recipe.lora.rank > 0 ? adapter_parameters(tape) : result.parameters;
  const Recipe& r = config.recipe;
  result.num_gpus = r.data_parallel_size * r.tensor_parallel * r.pipeline_parallel * r.context_parallel;
  result.global_batch_size = r.micro_batch_size * r.gradient_accumulation_steps * r.data_parallel_size;
  result.textbook = textbook(config, result.parameters);
  result.bandwidth = bandwidth(config, result, runs.folded);
  result.not_counted = not_counted(config);
  return result;
}

Peak stage_peak(const Config& config, std::int64_t stage) {
  const std::vector<FoldedPhase> folded =
      fold(run_training(config, {.steps = step_count, .fold = true, .stage = stage}));
  const FoldedPhase& peak = highest(folded);
  return {peak.peak.total, peak.peak.components, peak.phase};
}

Peak estimate_peak(const Config& config) {
  return highest_stage(config, workspace_beside(config), [&](std::int64_t stage) { return stage_peak(config, stage); });
}

}  // namespace trainmem
