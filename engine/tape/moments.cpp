#include "engine/tape/moments.h"

#include <algorithm>

namespace trainmem {

namespace {

class Walk {
 public:
  Walk(const Recording& tape, SizeTrace& trace) : tape_(tape), trace_(trace) {}

  std::vector<Moment> operator()() {
    turn(0, static_cast<std::uint32_t>(tape_.events.size()), 0);
    return std::move(moments_);
  }

 private:
  using Level = ByComponent<Polynomial>;

  bool is_empty(std::size_t mark) const { return tape_.repeats[mark].first_event == tape_.repeats[mark].end_event; }

  /// Events [first, end) once. Repeat marks that begin there stand from `mark` on.
  void turn(std::uint32_t first, std::uint32_t end, std::size_t mark) {
    const std::vector<RepeatMark>& repeats = tape_.repeats;
    for (std::uint32_t i = first; i < end;) {
      while (mark < repeats.size() && (repeats[mark].first_event < i || is_empty(mark))) ++mark;
      if (mark == repeats.size() || repeats[mark].first_event != i) {
        event(i, i + 1 == end);
        ++i;
        continue;
      }
      repeat(mark);
      i = repeats[mark].end_event;
    }
  }

  void repeat(std::size_t mark) {
    const RepeatMark& repeated = tape_.repeats[mark];
    trace_.guard(repeated.times, 1, Sign::zero | Sign::positive);
    const Level before = level_;
    turn(repeated.first_event, repeated.end_event, mark + 1);
    if (repeated.times.line() == 0 && repeated.times.recorded() == 1) return;
    const Polynomial others = sum(trace_.polynomial(repeated.times), {{0, 1}}, -1);
    bool changed = false;
    for (std::size_t i = 0; i < level_.size(); ++i) {
      const Polynomial change = sum(level_[i], before[i], -1);
      changed = changed || !change.empty();
      level_[i] = sum(before[i], trace_.multiply(change, others));
    }
    if (changed) turn(repeated.first_event, repeated.end_event, mark + 1);
  }

  void change_level(std::uint32_t i) {
    const StorageRecord& s = tape_.storage_of(tape_.events[i]);
    Polynomial& level = level_[s.component];
    level = sum(level, trace_.polynomial(Size(s.bytes, s.size_line)), allocates(tape_.events[i]) ? 1 : -1);
  }

  Phase phase_at(std::uint32_t event) const {
    const auto after = std::upper_bound(tape_.phases.begin(), tape_.phases.end(), event,
                                        [](std::uint32_t e, const PhaseMark& mark) { return e < mark.first_event; });
    return (after - 1)->phase;
  }

  void event(std::uint32_t i, bool ends) {
    change_level(i);
    // Only the last of several allocations in a row can be the highest moment.
    if (!allocates(tape_.events[i])) return;
    if (!ends && allocates(tape_.events[i + 1]) && phase_at(i) == phase_at(i + 1)) return;
    note(phase_at(i));
  }

  /// Atoms are powers of two from 2 to 256, in no order.
  const Moment::Samples& samples(std::uint32_t monomial) {
    for (std::size_t next = samples_.size(); next <= monomial; ++next) {
      const Monomial& product = trace_.monomials()[next];
      Moment::Samples result = next == 0 ? Moment::Samples{1, 1, 1, 1, 1, 1, 1, 1} : samples_[product.parent];
      for (std::size_t i = 0; next > 0 && i < result.size(); ++i)
        result[i] *= static_cast<double>(2U << ((product.atom + 1) * (2 * i + 3) * 5 % 23 % 8));
      samples_.push_back(result);
    }
    return samples_[monomial];
  }

  /// Whether moment a is higher than b by at least `by`, whatever the sizes.
  bool exceeds(const Moment& a, const Moment& b, std::int64_t by) const {
    for (std::size_t i = 0; i < a.samples.size(); ++i)
      if (a.samples[i] < b.samples[i]) return false;
    return trace_.at_least(sum(a.total, b.total, -1), by);
  }

  void note(Phase phase) {
    Moment moment{level_, {}, phase, {}};
    for (const Polynomial& part : level_) moment.total = sum(moment.total, part);
    for (const Term& term : moment.total) {
      const Moment::Samples& each = samples(term.monomial);
      for (std::size_t i = 0; i < each.size(); ++i)
        moment.samples[i] += static_cast<double>(term.coefficient) * each[i];
    }
    for (auto earlier = moments_.rbegin(); earlier != moments_.rend(); ++earlier)
      if (exceeds(*earlier, moment, 0)) return;
    moments_.erase(std::remove_if(moments_.begin(), moments_.end(),
                                  [&](const Moment& earlier) { return exceeds(moment, earlier, 1); }),
                   moments_.end());
    moments_.push_back(std::move(moment));
  }

  const Recording& tape_;
  SizeTrace& trace_;
  Level level_{};
  std::vector<Moment> moments_;
  std::vector<Moment::Samples> samples_;  ///< of each monomial
};

}  // namespace

std::vector<Moment> highest_moments(const Recording& tape, SizeTrace& trace) { return Walk(tape, trace)(); }

}  // namespace trainmem
