#include "engine/accuracy/predict.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "engine/blocks/architecture.h"
#include "engine/parallel/keeps_last_block.h"
#include "engine/tensor/dispatch_mode.h"
#include "engine/tensor/flash_scratch.h"
#include "engine/training/step.h"
#include "engine/validation/validate.h"

namespace trainmem {

namespace {

/// Recorders follow what the dispatcher sees. Of what kernels take for themselves, the records hold that of flash
/// attention's backward alone (tests/traces/README.md).
bool is_recorded(const StorageRecord& storage) {
  return !storage.in_kernel || std::string_view(storage.made_by->name) == flash_backward_rule.name;
}

Recording as_recorded(Recording recording) {
  for (StorageRecord& storage : recording.storages)
    if (!is_recorded(storage)) storage.bytes = 0;
  return recording;
}

/// Peak and end of every phase of a recording.
std::vector<PredictedPhase> phases_of(const Recording& recording) {
  std::vector<PredictedPhase> phases;
  Bytes allocated = 0;
  Bytes scratch = 0;
  std::size_t event = 0;
  for (std::size_t index = 0; index < recording.phases.size(); ++index) {
    const bool last = index + 1 == recording.phases.size();
    const std::size_t end = last ? recording.events.size() : recording.phases[index + 1].first_event;
    // The loss is a phase of the engine and a part of the recorded forward: both marks bear one name.
    if (phases.empty() || phases.back().name != recording.phases[index].name) {
      phases.push_back({recording.phases[index].name, allocated, allocated, allocated - scratch, event});
    }
    PredictedPhase& phase = phases.back();
    for (; event < end; ++event) {
      const Bytes change = recording.change_by(recording.events[event]);
      allocated += change;
      if (recording.storage_of(recording.events[event]).in_kernel) scratch += change;
      phase.peak = std::max(phase.peak, allocated);
      if (allocated - scratch > phase.peak_without_scratch) {
        phase.peak_without_scratch = allocated - scratch;
        phase.peak_event = event;
      }
    }
    phase.end = allocated;
  }
  return phases;
}

}  // namespace

Prediction predict(const TraceCase& trace) {
  const Config& config = trace.config;
  Prediction prediction;
  for (const Issue& issue : validate(config)) {
    if (!prediction.refused.empty()) prediction.refused += " ";
    prediction.refused += issue.path + ": " + issue.message;
  }
  if (prediction.refused.empty() && make_architecture(config.model, config.recipe) == nullptr) {
    prediction.refused = "/model/model_type: '" + config.model.model_type + "' has no forward yet.";
  }
  if (!prediction.refused.empty()) return prediction;
  StepOptions options;
  options.steps = trace.steps;
  std::optional<DispatchMode> as_under_a_recorder;
  if (trace.dispatch_mode) as_under_a_recorder.emplace();
  const KeepsLastBlock as_wrapped(trace.keeps_last_block);
  prediction.recording = as_recorded(run_training(config, options));
  prediction.phases = phases_of(prediction.recording);
  prediction.by_default = replay(prediction.recording);
  prediction.expandable_segments = replay(prediction.recording, {.allocator = {.expandable_segments = true}});
  return prediction;
}

}  // namespace trainmem
