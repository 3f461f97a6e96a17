#include "engine/advice/remedy.h"

#include <algorithm>
#include <utility>

#include "engine/advice/edits.h"
#include "engine/advice/trials.h"
#include "engine/runtime.h"
#include "engine/validation/validate.h"
#include "engine/verdict.h"

namespace trainmem {

namespace {

constexpr std::size_t most_changes = 6;  ///< a longer list is another training, not advice

using Changes = std::vector<const Change*>;

/// What may be allocated where it is to fit. Reserved memory is never less, so this bound needs no replay of the
/// allocator.
Bytes most_allocated(const Config& config) {
  Bytes most = usable_capacity(config.gpu);
  for (const RuntimeRow& row : runtime_rows(config)) most -= row.bytes.low;
  return most;
}

/// One price: the changes that it buys.
class Search {
 public:
  Search(const Config& config, const std::vector<Cost>& allowed, Trials& trials) : start_(config), trials_(trials) {
    for (const Change& change : all_changes()) {
      if (std::find(allowed.begin(), allowed.end(), change.cost) != allowed.end()) allowed_.push_back(&change);
    }
  }

  Remedy run() {
    Config config = start_;
    begin(config);
    Bytes peak = trials_.allocated(config);
    while (made_.size() < most_changes) {
      // Where the tensors fit and the pools around them do not, less of the pools has to lie unused.
      const bool pools_alone = peak <= most_allocated(config);
      if (!(pools_alone && grow_pools_in_place(config)) && !lower_peak(config, peak)) return {};
      Remedy remedy = {made_, config, {}};
      if (fits(remedy)) return fewest(std::move(remedy));
    }
    return {};
  }

 private:
  /// First of all: without its kernels every other try takes tens of times as long to compute, and what vLLM holds is
  /// no part of the peak.
  void begin(Config& config) {
    for (const Change* change : allowed_) {
      const bool first = change->apply == layer_kernels || change->apply == vllm_sleeps;
      if (first && make(*change, config)) made_.push_back(change);
    }
  }

  bool grow_pools_in_place(Config& config) {
    for (const Change* change : allowed_) {
      if (change->apply != turn_on<&Recipe::expandable_segments>) continue;
      if (is_made(change) || !make(*change, config)) return false;
      made_.push_back(change);
      return true;
    }
    return false;
  }

  bool is_made(const Change* change) const {
    return std::any_of(made_.begin(), made_.end(), [&](const Change* one) { return same_kind(*one, *change); });
  }

  /// The change, in its strongest degree that can be made, after which the peak is lowest.
  bool lower_peak(Config& config, Bytes& peak) {
    const Change* best = nullptr;
    const Change* tried = nullptr;
    Config best_config;
    for (auto i = allowed_.rbegin(); i != allowed_.rend(); ++i) {
      if (is_made(*i) || (tried != nullptr && same_kind(**i, *tried))) continue;
      Config changed = config;
      if (!make(**i, changed)) continue;
      tried = *i;
      if (!trials_.allocates_less(changed, peak)) continue;
      peak = trials_.allocated(changed);
      best = *i;
      best_config = std::move(changed);
    }
    if (best == nullptr) return false;
    config = std::move(best_config);
    made_.push_back(best);
    return true;
  }

  bool fits(Remedy& remedy) const {
    if (!trials_.allocates_less(remedy.config, most_allocated(remedy.config) + 1)) return false;
    remedy.after = trials_.outcome(remedy.config);
    return remedy.after.verdict.fit == Fit::fits && remedy.after.host <= host_memory_of_a_gpu;
  }

  /// The remedy with these changes, if they can be made and fit.
  bool becomes(Remedy& remedy, Changes changes) const {
    Remedy other = {std::move(changes), start_, {}};
    for (const Change* change : other.changes) {
      if (!change->apply(other.config, change->amount)) return false;
    }
    if (!validate(other.config).empty() || !fits(other)) return false;
    remedy = std::move(other);
    return true;
  }

  Remedy fewest(Remedy remedy) const {
    Changes dearest_first = remedy.changes;
    std::stable_sort(dearest_first.begin(), dearest_first.end(),
                     [](const Change* a, const Change* b) { return a->cost > b->cost; });
    for (const Change* spared : dearest_first) {
      Changes others = remedy.changes;
      others.erase(std::find(others.begin(), others.end(), spared));
      if (!others.empty()) becomes(remedy, std::move(others));
    }
    for (std::size_t i = 0; i < remedy.changes.size(); ++i) {
      for (const Change* milder : allowed_) {
        if (milder == remedy.changes[i]) break;
        if (!same_kind(*milder, *remedy.changes[i])) continue;
        Changes changes = remedy.changes;
        changes[i] = milder;
        if (becomes(remedy, std::move(changes))) break;
      }
    }
    return remedy;
  }

  const Config& start_;
  Trials& trials_;
  Changes allowed_;
  Changes made_;
};

Remedy single(const std::vector<Suggestion>& singles, const std::vector<Cost>& allowed) {
  for (const Suggestion& one : singles) {
    const bool bought = std::find(allowed.begin(), allowed.end(), one.change->cost) != allowed.end();
    if (bought && one.after.verdict.fit == Fit::fits) return {{one.change}, one.config, one.after};
  }
  return {};
}

}  // namespace

std::vector<Remedy> find_remedies(const Config& config, const std::vector<Suggestion>& singles, Trials& trials) {
  static const std::vector<Cost> same_training[] = {{Cost::none}, {Cost::none, Cost::speed}};
  static const std::vector<Cost> others[] = {{Cost::none, Cost::speed, Cost::host},
                                             {Cost::none, Cost::speed, Cost::numbers},
                                             {Cost::none, Cost::speed, Cost::adapters},
                                             {Cost::none, Cost::speed, Cost::gpus}};
  const auto remedy = [&](const std::vector<Cost>& allowed) {
    Remedy found = single(singles, allowed);
    return found.changes.empty() ? Search(config, allowed, trials).run() : found;
  };
  for (const std::vector<Cost>& allowed : same_training) {
    Remedy found = remedy(allowed);
    if (!found.changes.empty()) return {std::move(found)};
  }
  std::vector<Remedy> found;
  for (const std::vector<Cost>& allowed : others) {
    Remedy one = remedy(allowed);
    if (!one.changes.empty()) found.push_back(std::move(one));
  }
  return found;
}

}  // namespace trainmem
