#include "engine/advice/trials.h"

#include <algorithm>
#include <utility>

#include "engine/estimate.h"
#include "engine/peak/peak.h"

namespace trainmem {

namespace {

/// What a run depends on; the names of presets say nothing.
bool same_run(const Config& a, const Config& b) { return a.recipe == b.recipe && a.model == b.model && a.gpu == b.gpu; }

Outcome outcome_of(const Result& result) {
  return {result.allocated, result.components, result.reserved, result.device,
          result.host,      result.verdict,    result.num_gpus, result.parameters};
}

}  // namespace

Outcome outcome(const Config& config) { return outcome_of(estimate(config)); }

Trials::Trial& Trials::trial_of(const Config& config) {
  const auto known =
      std::find_if(trials_.begin(), trials_.end(), [&](const Trial& one) { return same_run(one.config, config); });
  return known != trials_.end() ? *known : trials_.emplace_back(Trial{config, {}, 0, {}});
}

bool Trials::has_run(const Config& config) const { return latest_ && same_run(latest_->config, config); }

void Trials::run(Trial& trial, Bytes enough) {
  if (trial.config.recipe.pipeline_parallel > 1) {  // the peak needs few of the stages, the outcome all
    trial.allocated = estimate_peak(trial.config).allocated;
    return;
  }
  StageRuns runs = run_stages(trial.config, enough);
  const Bytes allocated = runs.stages.front().allocated;
  if (allocated >= enough) {
    trial.at_least = allocated;
    return;
  }
  trial.allocated = allocated;
  latest_ = LatestRun{trial.config, std::move(runs)};
}

bool Trials::allocates_less(const Config& config, Bytes than) {
  Trial& trial = trial_of(config);
  if (!trial.allocated && trial.at_least < than) run(trial, than);
  return trial.allocated && *trial.allocated < than;
}

Bytes Trials::allocated(const Config& config) {
  Trial& trial = trial_of(config);
  if (!trial.allocated) run(trial, no_limit);
  return *trial.allocated;
}

Outcome Trials::outcome(const Config& config) {
  Trial& trial = trial_of(config);
  if (!trial.outcome) {
    trial.outcome = outcome_of(has_run(config) ? estimate(config, std::move(latest_->stages)) : estimate(config));
    if (has_run(config)) latest_.reset();
  }
  return *trial.outcome;
}

}  // namespace trainmem
