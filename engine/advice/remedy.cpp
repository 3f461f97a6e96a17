#include "engine/advice/remedy.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/peak.h"
#include "engine/runtime.h"
#include "engine/validation/validate.h"
#include "engine/verdict.h"

namespace trainmem {

namespace {

constexpr std::size_t most_changes = 4;  ///< a longer list is another training, not advice

/// Changes that a search may take.
struct Scope {
  bool more_gpus;

  bool holds(const Change& change) const {
    return more_gpus ? change.cost != Cost::adapters : change.cost != Cost::gpus;
  }
  bool holds(const Suggestion& one) const { return holds(*one.change); }
};

bool same_id(const Change* a, const Change* b) { return std::string_view(a->id) == b->id; }

/// Could it fit? Reserved memory is never less than allocated, so this bound needs no replay of the allocator.
bool may_fit(const Config& config, Bytes allocated) {
  for (const RuntimeRow& row : runtime_rows(config)) allocated += row.bytes.low;
  return allocated <= usable_capacity(config.gpu);
}

/// The cheapest single change that fits.
Remedy single_that_fits(const std::vector<Suggestion>& singles, Scope scope) {
  for (const Suggestion& one : singles) {
    if (scope.holds(one) && one.after.verdict.fit == Fit::fits) return {{one.change}, one.config, one.after};
  }
  return {};
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
Remedy pair_that_fits(const Config& config, const std::vector<Suggestion>& all, Scope scope) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      const bool taken = scope.holds(all[i]) && scope.holds(all[j]) && !same_id(all[i].change, all[j].change);
      if (taken) pairs.push_back({&all[i], &all[j]});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end());
  for (const Pair& pair : pairs) {
    Config changed = config;
    if (!pair.first->change->apply(changed, pair.first->change->amount)) continue;
    if (!make(*pair.second->change, changed)) continue;
    if (!may_fit(changed, estimate_peak(changed).allocated)) continue;
    const Outcome after = outcome(changed);
    if (after.verdict.fit == Fit::fits) return {{pair.first->change, pair.second->change}, changed, after};
  }
  return {};
}

/// All of them, one after another; a remedy without changes if one of them cannot be made or it does not fit.
Remedy made_in_a_row(const Config& config, const std::vector<const Change*>& changes) {
  Remedy made{changes, config, {}};
  for (const Change* change : changes) {
    if (!make(*change, made.config)) return {};
  }
  if (!may_fit(made.config, estimate_peak(made.config).allocated)) return {};
  made.after = outcome(made.config);
  return made.after.verdict.fit == Fit::fits ? made : Remedy{};
}

/// Leaves out what is not needed once the later changes stand: the dearest first.
Remedy without_the_needless(const Config& config, Remedy remedy) {
  std::vector<const Change*> dearest = remedy.changes;
  std::stable_sort(dearest.begin(), dearest.end(), [](const Change* a, const Change* b) { return a->cost > b->cost; });
  for (const Change* change : dearest) {
    std::vector<const Change*> fewer = remedy.changes;
    fewer.erase(std::remove(fewer.begin(), fewer.end(), change), fewer.end());
    Remedy less = made_in_a_row(config, fewer);
    if (!less.changes.empty()) remedy = std::move(less);
  }
  return remedy;
}

/// Each time the change that leaves the lowest peak: a change that saves nothing alone may save most after another, as
/// recomputation does once the optimizer's step is no longer the highest moment.
Remedy chain_that_fits(const Config& config, Bytes allocated, Scope scope) {
  Config reached = config;
  std::vector<const Change*> chain;
  while (chain.size() < most_changes) {
    const Change* best = nullptr;
    Config next;
    for (const Change& change : all_changes()) {
      const bool again =
          std::any_of(chain.begin(), chain.end(), [&](const Change* one) { return same_id(one, &change); });
      Config tried = reached;
      if (again || !scope.holds(change) || !make(change, tried)) continue;
      const Bytes peak = estimate_peak(tried).allocated;
      if (peak >= allocated) continue;
      allocated = peak;
      best = &change;
      next = std::move(tried);
    }
    if (!best) return {};
    chain.push_back(best);
    reached = std::move(next);
    if (!may_fit(reached, allocated)) continue;
    const Remedy found = made_in_a_row(config, chain);
    if (!found.changes.empty()) return without_the_needless(config, found);
  }
  return {};
}

}  // namespace

bool make(const Change& change, Config& config) {
  return change.apply(config, change.amount) && validate(config).empty();
}

Remedy find_remedy(const Config& config, const std::vector<Suggestion>& singles, const std::vector<Suggestion>& all) {
  const Bytes allocated = estimate_peak(config).allocated;
  for (const Scope scope : {Scope{false}, Scope{true}}) {
    Remedy found = single_that_fits(singles, scope);
    if (found.changes.empty()) found = pair_that_fits(config, all, scope);
    if (found.changes.empty()) found = chain_that_fits(config, allocated, scope);
    if (!found.changes.empty()) return found;
  }
  return {};
}

}  // namespace trainmem
