#include "engine/advice/advice.h"

#include <algorithm>
#include <string_view>

#include "engine/estimate.h"
#include "engine/peak.h"
#include "engine/runtime.h"
#include "engine/validation/validate.h"
#include "engine/verdict.h"

namespace trainmem {

namespace {

bool made(const Change& change, Config& config) {
  return change.apply(config, change.amount) && validate(config).empty();
}

/// Could it fit? Reserved memory is never less than allocated, so this bound needs no replay of the allocator.
bool may_fit(const Config& config, Bytes allocated) {
  for (const RuntimeRow& row : runtime_rows(config)) allocated += row.bytes.low;
  return allocated <= usable_capacity(config.gpu);
}

bool same_id(const Change* a, const Change* b) { return std::string_view(a->id) == b->id; }

/// What is less than a thousandth of the whole is no advice.
bool worth_saying(Bytes saved, const Result& before) { return saved > before.device.expected / 1000; }

/// Every change in every degree, each alone, that saves memory.
std::vector<Suggestion> try_all(const Config& config, const Result& result) {
  std::vector<Suggestion> found;
  for (const Change& change : all_changes()) {
    Suggestion tried{&change, config, {}, 0};
    if (!made(change, tried.config)) continue;
    const bool pools_alone = tried.config.recipe.expandable_segments != config.recipe.expandable_segments;
    if (!pools_alone && estimate_peak(tried.config).allocated >= result.allocated) continue;
    tried.after = outcome(tried.config);
    tried.saved = result.device.expected - tried.after.device.expected;
    if (worth_saying(tried.saved, result)) found.push_back(std::move(tried));
  }
  return found;
}

/// Of the degrees of one change: the mildest that fits, else the one that saves most.
std::vector<Suggestion> best_degrees(const std::vector<Suggestion>& all) {
  std::vector<Suggestion> kept;
  for (const Suggestion& one : all) {
    if (kept.empty() || !same_id(kept.back().change, one.change)) {
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

struct Pair {
  const Suggestion* first;
  const Suggestion* second;

  int cost() const { return static_cast<int>(first->change->cost) + static_cast<int>(second->change->cost); }
  std::int64_t gpus() const { return std::max(first->after.num_gpus, second->after.num_gpus); }
  Bytes saved() const { return first->saved + second->saved; }

  bool operator<(const Pair& other) const {
    if (cost() != other.cost()) return cost() < other.cost();
    return gpus() != other.gpus() ? gpus() < other.gpus() : saved() > other.saved();
  }
};

/// Two changes that fit together, the cheapest pair first. A pair is tried in full only if its peak leaves room.
Remedy pair_that_fits(const Config& config, const std::vector<Suggestion>& singles) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < singles.size(); ++i) {
    for (std::size_t j = i + 1; j < singles.size(); ++j) {
      if (!same_id(singles[i].change, singles[j].change)) pairs.push_back({&singles[i], &singles[j]});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end());
  for (const Pair& pair : pairs) {
    Config changed = config;
    if (!pair.first->change->apply(changed, pair.first->change->amount)) continue;
    if (!made(*pair.second->change, changed)) continue;
    if (!may_fit(changed, estimate_peak(changed).allocated)) continue;
    const Outcome after = outcome(changed);
    if (after.verdict.fit == Fit::fits) return {{pair.first->change, pair.second->change}, changed, after};
  }
  return {};
}

/// The cheapest single change that fits, else the cheapest pair.
Remedy find_remedy(const Config& config, const std::vector<Suggestion>& singles, const std::vector<Suggestion>& all) {
  for (const Suggestion& one : singles) {
    if (one.after.verdict.fit == Fit::fits) return {{one.change}, one.config, one.after};
  }
  return pair_that_fits(config, all);
}

}  // namespace

Outcome outcome(const Config& config) {
  const Result result = estimate(config);
  return {result.allocated, result.components, result.reserved,  result.device,
          result.verdict,   result.num_gpus,   result.parameters};
}

Advice advise(const Config& config, const Result& result) {
  Advice advice;
  advice.diagnoses = diagnose(config, result);
  const std::vector<Suggestion> all = try_all(config, result);
  advice.suggestions = best_degrees(all);
  if (result.verdict.fit == Fit::does_not_fit || result.verdict.fit == Fit::tight) {
    advice.remedy = find_remedy(config, advice.suggestions, all);
  }
  return advice;
}

}  // namespace trainmem
