#include "engine/accuracy/measured_score.h"

#include <algorithm>

#include "engine/config/words.h"
#include "engine/error_band.h"
#include "engine/estimate.h"
#include "engine/tape/fold.h"
#include "engine/training/step.h"

namespace trainmem {
namespace {

/// Of the stage that was read, without initialisation.
Bytes highest_of_step(const MeasuredCase& measured, const Result& result) {
  std::int64_t stage = std::max<std::int64_t>(measured.stage, 0);
  for (const Stage& each : result.stages)
    if (measured.stage < 0 && each.worst) stage = each.index;
  Bytes highest = 0;
  for (const FoldedPhase& phase : fold(run_training(measured.config, {.fold = true, .stage = stage})))
    if (phase.phase != Phase::initialise) highest = std::max(highest, phase.peak.total);
  return highest;
}

/// Where the allocator would reserve more than the GPU has, what it reserves by giving cached blocks back.
Bytes shown_by_device(const Result& result) {
  const std::optional<AtCapacity>& at_capacity = result.verdict.at_capacity;
  if (at_capacity) return at_capacity->reserved + result.device.expected - result.reserved.expected;
  const Bytes capacity = result.verdict.capacity;
  return capacity > 0 ? std::min(result.device.expected, capacity) : result.device.expected;
}

/// What the engine says that this counter shows; -1: it does not say, as for a stage other than the worst.
Bytes predicted(const Result& result, const MeasuredCase& measured, MemoryCounter counter) {
  const bool of_stage = measured.stage >= 0 && measured.stage < static_cast<std::int64_t>(result.stages.size());
  const bool worst = !of_stage || result.stages[static_cast<std::size_t>(measured.stage)].worst;
  switch (counter) {
    case MemoryCounter::allocated:
    case MemoryCounter::active:
      return worst ? result.allocated : result.stages[static_cast<std::size_t>(measured.stage)].allocated;
    case MemoryCounter::step: return highest_of_step(measured, result);
    case MemoryCounter::reserved: return worst ? result.reserved.expected : -1;
    case MemoryCounter::device: return worst ? shown_by_device(result) : -1;
  }
  return -1;
}

}  // namespace

bool MeasuredScore::contradicts() const {
  return scored() && standing() != Standing::predicted && fit == (out_of_memory ? Fit::fits : Fit::does_not_fit);
}

MeasuredScore score(const MeasuredCase& measured) {
  MeasuredScore result;
  result.file = measured.file;
  result.id = measured.id;
  result.source = measured.source;
  result.notes = measured.notes;
  result.uncertain_because = measured.uncertain_because;
  result.confidence = measured.confidence;
  result.out_of_memory = measured.out_of_memory;
  result.framework = word(measured.config.recipe.framework);
  result.kind = error_kind(measured.config.recipe);
  if (!measured.readings.empty()) result.read = measured.readings.front().counter;
  result.not_scored = measured.cannot_read;
  if (!result.scored()) return result;
  const Result answer = estimate(measured.config);
  result.fit = answer.verdict.fit;
  result.at_capacity = answer.verdict.at_capacity;
  for (const Reading& reading : measured.readings) {
    const Bytes bytes = predicted(answer, measured, reading.counter);
    if (bytes >= 0) result.readings.push_back({reading.counter, {reading.bytes, bytes}});
  }
  return result;
}

}  // namespace trainmem
