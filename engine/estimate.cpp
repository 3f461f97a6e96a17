#include "engine/estimate.h"

#include <algorithm>

#include "engine/allocator.h"
#include "engine/parameters.h"
#include "engine/runtime.h"
#include "engine/step.h"
#include "engine/tape_fold.h"
#include "engine/tape_rows.h"
#include "engine/textbook.h"
#include "engine/verdict.h"

namespace trainmem {

namespace {

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

Range same(Bytes bytes) { return {bytes, bytes, bytes}; }

}  // namespace

Result estimate(const Config& config) {
  constexpr std::int32_t steps = 2;
  Result result;
  const Recording tape = run_training(config, {steps, false, 0});
  const std::vector<FoldedPhase> folded = fold(tape);
  const FoldedPhase& peak = highest(folded);
  result.allocated = peak.peak.total;
  result.components = peak.peak.components;
  result.peak_phase = peak.phase;
  result.peak_where = name(peak.phase);
  const std::string place = place_at(tape, peak.peak_event);
  if (!place.empty()) result.peak_where += " / " + place;
  result.rows = rows_at(tape, peak.peak_event);
  result.phases = phases_of_last_step(folded, steps);
  result.timeline = timeline(tape);
  add_workspace(result, config.gpu);

  const Bytes workspace = cublas_workspace(config.gpu);
  const Bytes reserved = replay(tape, {config.recipe.expandable_segments}).peak_reserved;
  result.reserved = same(reserved + workspace);
  result.runtime = runtime_rows(config);
  result.device = result.reserved;
  for (const RuntimeRow& row : result.runtime) {
    result.device.low += row.bytes.low;
    result.device.expected += row.bytes.expected;
    result.device.high += row.bytes.high;
  }
  result.verdict = verdict(result.device, config.gpu);

  result.parameters = parameter_count(config.model);
  result.active_parameters = active_parameter_count(config.model);
  result.trainable_parameters = result.parameters;
  const Recipe& r = config.recipe;
  result.num_gpus = r.data_parallel_size * r.tensor_parallel * r.pipeline_parallel * r.context_parallel;
  result.global_batch_size = r.micro_batch_size * r.gradient_accumulation_steps * r.data_parallel_size;
  result.textbook = textbook(config, result.parameters);
  Stage stage;
  stage.layers = config.model.num_hidden_layers;
  stage.micro_batches_in_flight = 1;
  stage.parameters = result.parameters;
  stage.allocated = result.allocated;
  stage.components = result.components;
  stage.worst = true;
  result.stages.push_back(stage);
  return result;
}

Peak estimate_peak(const Config& config) {
  const std::vector<FoldedPhase> folded = fold(run_training(config, {2, true, 0}));
  const FoldedPhase& peak = highest(folded);
  const Bytes workspace = cublas_workspace(config.gpu);
  Peak result{peak.peak.total + workspace, peak.peak.components, peak.phase};
  result.components[static_cast<std::size_t>(Component::workspace)] += workspace;
  return result;
}

}  // namespace trainmem
