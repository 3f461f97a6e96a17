#include "engine/estimate.h"

#include <algorithm>

#include "engine/bandwidth/bandwidth.h"
#include "engine/config/sequences.h"
#include "engine/config/world_size.h"
#include "engine/error_band.h"
#include "engine/host_memory.h"
#include "engine/modelled/not_counted.h"
#include "engine/parameters/parameters.h"
#include "engine/parameters/trained_model.h"
#include "engine/peak/peak.h"
#include "engine/peak/reserved.h"
#include "engine/runtime.h"
#include "engine/tape/fold.h"
#include "engine/tape/rows.h"
#include "engine/tape/timeline.h"
#include "engine/textbook.h"
#include "engine/training/step.h"
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

void add_workspace(Result& result, const Config& config) {
  const Row row = cublas_workspace_row(config);
  result.allocated += row.bytes;
  result.components[Component::workspace] += row.bytes;
  result.rows.push_back(row);
  for (PhasePeak& phase : result.phases) {
    if (phase.phase == Phase::initialise) continue;  // made at the first matrix product
    phase.peak += row.bytes;
    phase.end += row.bytes;
    phase.components[Component::workspace] += row.bytes;
  }
  for (TimelinePoint& point : result.timeline) {
    if (point.phase == Phase::initialise) continue;
    point.allocated += row.bytes;
    point.components[Component::workspace] += row.bytes;
  }
}

std::int64_t worst_stage(const std::vector<Stage>& stages) {
  for (const Stage& stage : stages)
    if (stage.worst) return stage.index;
  return 0;
}

}  // namespace

Result estimate(const Config& config) { return estimate(config, run_stages(config)); }

Result estimate(const Config& config, StageRuns runs) {
  Result result;
  result.stages = std::move(runs.stages);
  const std::int64_t stage = worst_stage(result.stages);
  if (runs.folded_stage != stage) runs.folded = run_training(config, {.fold = true, .stage = stage});
  const Recording tape = whole_recording(config, stage, runs.folded);
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
  if (workspace_beside(config) > 0) add_workspace(result, config);

  const ReservingGpus reserving(config, result.stages, tape);
  const Bytes reserved = reserving.replay().peak_reserved;
  result.reserved = measured_range(reserved, error_band(config.recipe), result.allocated);
  result.runtime = runtime_rows(config);
  result.device = result.reserved;
  for (const RuntimeRow& row : result.runtime) {
    result.device.low += row.bytes.low;
    result.device.expected += row.bytes.expected;
    result.device.high += row.bytes.high;
  }
  result.host = host_memory(config);
  result.verdict = verdict(result.device, least_needed(result), config.gpu);
  if (const Bytes limit = allocator_limit(result); limit > 0)
    result.verdict = verdict_at_capacity(result, reserving.replay(limit).at_limit, config.recipe.expandable_segments);

  const Model model = trained_model(config);
  result.parameters = parameter_count(model);
  result.active_parameters = active_parameter_count(model);
  result.trainable_parameters =
      config.recipe.lora.rank > 0 ? runs.folded.adapter_elements : trained_parameter_count(config);
  const Recipe& r = config.recipe;
  result.num_gpus = world_size(r);
  result.global_batch_size = sequences_of_micro_batch(r) * r.gradient_accumulation_steps * r.data_parallel_size;
  result.textbook = textbook(config, result.parameters);
  result.bandwidth = bandwidth(config, result, runs.folded);
  result.not_counted = not_counted(config);
  return result;
}

}  // namespace trainmem
