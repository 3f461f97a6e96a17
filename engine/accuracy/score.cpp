#include "engine/accuracy/score.h"

#include <algorithm>
#include <cmath>

#include "engine/error_band.h"

namespace trainmem {
namespace {

bool further(double a, double b) { return std::abs(a) > std::abs(b); }

double quantile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::min(sorted.size() - 1, rank == 0 ? 0 : rank - 1)];
}

}  // namespace

double Pair::error() const {
  if (recorded == predicted) return 0;
  if (recorded == 0) return 1;
  return static_cast<double>(predicted - recorded) / static_cast<double>(recorded);
}

double CaseScore::worst_phase() const {
  double worst = 0;
  for (const PhaseScore& phase : phases) {
    for (const Pair* pair : {&phase.peak, &phase.peak_without_scratch, &phase.end}) {
      if (further(pair->error(), worst)) worst = pair->error();
    }
  }
  return worst;
}

double CaseScore::worst_reserved() const {
  if (reserved.recorded == 0) return 0;
  return further(reserved.error(), reserved_expandable.error()) ? reserved.error() : reserved_expandable.error();
}

CaseScore score(const TraceCase& trace, const Prediction& prediction) {
  CaseScore result;
  result.file = trace.file;
  result.id = trace.id;
  result.family = trace.family;
  result.kind = error_kind(trace.config.recipe);
  result.not_scored = trace.cannot_translate.empty() ? prediction.refused : trace.cannot_translate;
  if (!result.scored()) return result;

  const std::string last_step = "step " + std::to_string(trace.steps) + " ";
  const bool sharded =
      trace.config.recipe.data_parallel != DataParallel::ddp || trace.config.recipe.tensor_parallel > 1;
  for (const RecordedPhase& recorded : trace.phases) {
    const bool initial = recorded.name == "init" && !sharded;
    if (!initial && recorded.name.rfind(last_step, 0) != 0) continue;
    const auto predicted = std::find_if(prediction.phases.begin(), prediction.phases.end(),
                                        [&](const PredictedPhase& phase) { return phase.name == recorded.name; });
    if (predicted == prediction.phases.end()) {
      result.not_scored = "the engine has no phase '" + recorded.name + "'";
      return result;
    }
    PhaseScore phase;
    phase.phase = recorded.name;
    phase.peak = {recorded.peak_with_kernel_scratch, predicted->peak};
    phase.peak_without_scratch = {recorded.peak, predicted->peak_without_scratch};
    phase.end = {recorded.end, predicted->end};
    if (initial) {
      phase.peak = phase.peak_without_scratch = phase.end;  // how the weights came to be is no part of the run
    } else {
      result.step_peak.recorded = std::max(result.step_peak.recorded, phase.peak.recorded);
      result.step_peak.predicted = std::max(result.step_peak.predicted, phase.peak.predicted);
    }
    result.phases.push_back(phase);
  }
  result.reserved = {trace.reserved.by_default, prediction.by_default.peak_reserved};
  result.reserved_expandable = {trace.reserved.expandable_segments, prediction.expandable_segments.peak_reserved};
  return result;
}

Summary summarise(const std::vector<double>& errors, double threshold) {
  Summary summary;
  std::vector<double> sizes;
  for (const double error : errors) {
    if (std::abs(error) > threshold) ++summary.beyond;
    sizes.push_back(std::abs(error));
    summary.worst_over = std::max(summary.worst_over, error);
    summary.worst_under = std::min(summary.worst_under, error);
  }
  std::sort(sizes.begin(), sizes.end());
  summary.cases = static_cast<int>(sizes.size());
  summary.median = quantile(sizes, 0.5);
  summary.ninetieth = quantile(sizes, 0.9);
  return summary;
}

Summary summarise(const std::vector<const CaseScore*>& cases, double (CaseScore::*error)() const, double threshold) {
  std::vector<double> errors;
  int not_scored = 0;
  for (const CaseScore* one : cases) {
    if (one->scored()) {
      errors.push_back((one->*error)());
    } else {
      ++not_scored;
    }
  }
  Summary summary = summarise(errors, threshold);
  summary.not_scored = not_scored;
  return summary;
}

}  // namespace trainmem
