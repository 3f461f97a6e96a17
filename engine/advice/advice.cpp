#include "engine/advice/advice.h"

#include <algorithm>

#include "engine/advice/edits.h"
#include "engine/advice/remedy.h"
#include "engine/advice/trials.h"

namespace trainmem {

namespace {

/// What is less than a thousandth of the whole is no advice.
bool worth_saying(Bytes saved, const Result& before) { return saved > before.device.expected / 1000; }

/// Every change in every degree, each alone, that saves memory.
std::vector<Suggestion> try_all(const Config& config, const Result& result, Trials& trials) {
  std::vector<Suggestion> found;
  for (const Change& change : all_changes()) {
    Suggestion tried{&change, config, {}, 0};
    if (!make(change, tried.config)) continue;
    const bool beside_tensors =
        tried.config.recipe.expandable_segments != config.recipe.expandable_segments || change.apply == vllm_sleeps;
    if (!beside_tensors && !trials.allocates_less(tried.config, result.allocated)) continue;
    tried.after = trials.outcome(tried.config);
    if (tried.after.host > host_memory_of_a_gpu) continue;
    tried.saved = result.device.expected - tried.after.device.expected;
    if (worth_saying(tried.saved, result)) found.push_back(std::move(tried));
  }
  return found;
}

/// Of the degrees of one change: the mildest that fits, else the one that saves most.
std::vector<Suggestion> best_degrees(const std::vector<Suggestion>& all) {
  std::vector<Suggestion> kept;
  for (const Suggestion& one : all) {
    if (kept.empty() || !same_kind(*kept.back().change, *one.change)) {
      kept.push_back(one);
    } else if (kept.back().after.verdict.fit != Fit::fits &&
               (one.after.verdict.fit == Fit::fits || one.saved > kept.back().saved)) {
      kept.back() = one;
    }
  }
  std::stable_sort(kept.begin(), kept.end(), [](const Suggestion& a, const Suggestion& b) {
    return a.change->cost != b.change->cost ? a.change->cost < b.change->cost : a.saved > b.saved;
  });
  return kept;
}

}  // namespace

Advice advise(const Config& config, const Result& result) {
  Advice advice;
  advice.diagnoses = diagnose(config, result);
  Trials trials;
  advice.suggestions = best_degrees(try_all(config, result, trials));
  if (result.verdict.fit == Fit::does_not_fit || result.verdict.fit == Fit::tight) {
    advice.remedies = find_remedies(config, advice.suggestions, trials);
  }
  return advice;
}

}  // namespace trainmem
