// Where the peak comes from, in three questions.
#include <algorithm>
#include <string>

#include "engine/advice/advice.h"
#include "engine/config/shard_group.h"
#include "engine/text/numbers.h"

namespace trainmem {

namespace {

/// Groups that one kind of change helps against.
struct Groups {
  Bytes weights = 0;
  Bytes gradients = 0;
  Bytes states = 0;       ///< what the optimizer keeps: moments and master weights
  Bytes activations = 0;  ///< logits included
  Bytes other = 0;        ///< the largest of the remaining components

  Bytes largest() const { return std::max({weights, gradients, states, activations, other}); }
};

Groups groups_of(const ComponentBytes& c) {
  Groups groups;
  groups.weights = c[Component::weights];
  groups.gradients = c[Component::gradients];
  groups.states = c[Component::optimizer_states] + c[Component::master_weights];
  groups.activations = c[Component::activations] + c[Component::logits_and_loss];
  for (const Component which : {Component::optimizer_temporaries, Component::gathered_parameters,
                                Component::communication, Component::workspace}) {
    groups.other = std::max(groups.other, c[which]);
  }
  return groups;
}

/// "31.2 of 125.6 GiB (24.8 %)"
std::string share(Bytes bytes, Bytes of) {
  const double percent = of > 0 ? 100.0 * static_cast<double>(bytes) / static_cast<double>(of) : 0;
  return gib_text(bytes) + " of " + gib_text(of) + " GiB (" + tenths_text(percent) + " %)";
}

std::string phase_words(Phase phase) { return phase == Phase::optimizer_step ? "the optimizer step" : name(phase); }

/// What rounds to 0.0 % is not told in numbers.
bool next_to_nothing(Bytes bytes, Bytes of) { return 2000.0 * static_cast<double>(bytes) < static_cast<double>(of); }

Diagnosis activations(const Result& result, const Groups& groups) {
  Diagnosis d{"Is activation memory the hotspot?", false, groups.activations, result.allocated, ""};
  d.yes = groups.activations > 0 && groups.activations == groups.largest();
  const std::string held = next_to_nothing(d.bytes, d.of) ? "next to nothing" : share(d.bytes, d.of);
  d.sentence = std::string(d.yes ? "Yes" : "No") + ": activations and logits are " + held + " at the peak, in " +
               phase_words(result.peak_phase) + ".";
  const PhasePeak* most = nullptr;
  for (const PhasePeak& phase : result.phases) {
    if (most == nullptr || groups_of(phase.components).activations > groups_of(most->components).activations)
      most = &phase;
  }
  if (most == nullptr || most->phase == result.peak_phase) return d;
  const Bytes bytes = groups_of(most->components).activations;
  if (bytes > groups.activations) {
    d.sentence += " In " + phase_words(most->phase) + " they are " + share(bytes, most->peak) + ".";
  }
  return d;
}

Diagnosis states(const Result& result, const Groups& groups) {
  Diagnosis d{"Do the optimizer states dominate?", false, groups.states, result.allocated, ""};
  d.yes = groups.states > 0 && groups.states == groups.largest();
  d.sentence = std::string(d.yes ? "Yes" : "No") + ": they are " + share(d.bytes, d.of) + " at the peak";
  const Bytes master = result.components[Component::master_weights];
  d.sentence += master > 0 ? ", master weights included." : ".";
  return d;
}

/// What every data-parallel GPU holds in full, though one copy among them would do.
Bytes replicated(const Config& config, const Groups& groups) {
  const Recipe& r = config.recipe;
  const Bytes all = groups.weights + groups.gradients + groups.states;
  switch (r.data_parallel) {
    case DataParallel::ddp: return r.distributed_optimizer ? groups.weights + groups.gradients : all;
    case DataParallel::zero1: return groups.weights + groups.gradients;
    case DataParallel::zero2: return groups.weights;
    case DataParallel::zero3:
    case DataParallel::fsdp: break;
  }
  return is_hybrid(r) ? all : 0;
}

Diagnosis replication(const Config& config, const Result& result, const Groups& groups) {
  Diagnosis d{"Is parameter replication too large?", false, 0, result.allocated, ""};
  const Recipe& r = config.recipe;
  const std::int64_t holders = is_hybrid(r) ? r.data_parallel_size / r.hybrid_shard_size : r.data_parallel_size;
  if (holders < 2) {
    d.sentence = "No: one data-parallel GPU, so nothing is held twice.";
    return d;
  }
  d.bytes = replicated(config, groups);
  if (d.bytes == 0) {
    d.sentence = "No: weights, gradients and states are divided over " + std::to_string(holders) + " GPUs.";
    return d;
  }
  const Bytes avoidable = d.bytes - d.bytes / holders;
  d.yes = 2 * avoidable >= result.allocated;
  d.sentence = std::string(d.yes ? "Yes" : "No") + ": " + share(d.bytes, d.of) + " is held by each of " +
               std::to_string(holders) + " data-parallel GPUs alike; divided it would be " +
               gib_text(d.bytes / holders) + " GiB on each.";
  return d;
}

}  // namespace

std::vector<Diagnosis> diagnose(const Config& config, const Result& result) {
  const Groups groups = groups_of(result.components);
  return {activations(result, groups), states(result, groups), replication(config, result, groups)};
}

}  // namespace trainmem
