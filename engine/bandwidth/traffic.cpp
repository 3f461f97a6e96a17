#include "engine/bandwidth/traffic.h"

#include <vector>

namespace trainmem {

namespace {

/// Walks the events and knows, at each, its phase and how many times it happens.
class Walk {
 public:
  explicit Walk(const Recording& tape) : tape_(tape) {
    for (const PhaseMark& mark : tape.phases) last_step_ = mark.step > last_step_ ? mark.step : last_step_;
  }

  void move_to(std::uint32_t event) {
    while (!open_.empty() && open_.back().end_event <= event) open_.pop_back();
    while (next_phase_ < tape_.phases.size() && tape_.phases[next_phase_].first_event <= event) ++next_phase_;
    for (; next_repeat_ < tape_.repeats.size() && tape_.repeats[next_repeat_].first_event <= event; ++next_repeat_) {
      const RepeatMark& mark = tape_.repeats[next_repeat_];
      if (mark.end_event <= event) continue;
      const double around = open_.empty() ? 1 : open_.back().times;
      open_.push_back({mark.end_event, around * static_cast<double>(mark.times.value())});
    }
  }

  std::int32_t mark() const { return static_cast<std::int32_t>(next_phase_) - 1; }
  double times() const { return open_.empty() ? 1 : open_.back().times; }
  bool counts(std::int32_t mark) const {
    if (mark < 0) return false;
    const PhaseMark& phase = tape_.phases[static_cast<std::size_t>(mark)];
    return phase.step == last_step_ && phase.phase != Phase::initialise && phase.phase != Phase::optimizer_step;
  }
  Phase phase(std::int32_t mark) const { return tape_.phases[static_cast<std::size_t>(mark)].phase; }

 private:
  struct Open {
    std::uint32_t end_event = 0;
    double times = 1;
  };
  const Recording& tape_;
  std::vector<Open> open_;
  std::size_t next_phase_ = 0;
  std::size_t next_repeat_ = 0;
  std::int32_t last_step_ = 0;
};

/// When a storage was made.
struct Birth {
  std::int32_t mark = -1;
  double times = 0;
};

bool is_working(Component component) {
  return component == Component::activations || component == Component::logits_and_loss ||
         component == Component::communication;
}

class Sum {
 public:
  explicit Sum(const Recording& tape) : tape_(tape), walk_(tape), births_(tape.storages.size()) {}

  std::array<PhaseTraffic, phase_count> operator()() {
    std::size_t next_work = 0;
    const auto events = static_cast<std::uint32_t>(tape_.events.size());
    for (std::uint32_t i = 0; i < events; ++i) {
      walk_.move_to(i);
      for (; next_work < tape_.work.size() && tape_.work[next_work].event == i; ++next_work) add(tape_.work[next_work]);
      const std::size_t id = storage_index(tape_.events[i]);
      if (allocates(tape_.events[i])) {
        made(id);
      } else {
        freed(id, walk_.mark());
      }
    }
    for (std::size_t id = 0; id < births_.size(); ++id)
      if (births_[id].mark >= 0) freed(id, births_[id].mark);
    return phases_;
  }

 private:
  PhaseTraffic& at(std::int32_t mark) { return phases_[static_cast<std::size_t>(walk_.phase(mark))]; }
  double& bytes(std::int32_t mark, Component component) { return at(mark).bytes[component]; }

  void add(const WorkMark& work) {
    if (!walk_.counts(walk_.mark())) return;
    bytes(walk_.mark(), work.component) += walk_.times() * static_cast<double>(work.bytes);
    PhaseTraffic& phase = at(walk_.mark());
    phase.operations += walk_.times() * work.operations;
    if (work.forward && walk_.phase(walk_.mark()) == Phase::backward)
      phase.recomputed += walk_.times() * work.operations;
  }

  void made(std::size_t id) {
    if (!walk_.counts(walk_.mark())) return;
    const StorageRecord& storage = tape_.storages[id];
    births_[id] = {walk_.mark(), walk_.times()};
    const bool copy = storage.component == Component::weights || storage.component == Component::gathered_parameters;
    if (copy || storage.component == Component::gradients)
      bytes(walk_.mark(), storage.component) += walk_.times() * static_cast<double>(storage.bytes);
  }

  void freed(std::size_t id, std::int32_t mark) {
    Birth& birth = births_[id];
    const StorageRecord& storage = tape_.storages[id];
    if (birth.mark >= 0 && is_working(storage.component) && (mark != birth.mark || storage.bytes > largest_cache)) {
      const double moved = birth.times * static_cast<double>(storage.bytes);
      bytes(birth.mark, storage.component) += moved;
      bytes(walk_.counts(mark) ? mark : birth.mark, storage.component) += moved;
    }
    birth = {};
  }

  const Recording& tape_;
  Walk walk_;
  std::vector<Birth> births_;
  std::array<PhaseTraffic, phase_count> phases_{};
};

}  // namespace

std::array<PhaseTraffic, phase_count> traffic_of_last_step(const Recording& tape) { return Sum(tape)(); }

double sum(const Traffic& traffic) {
  double total = 0;
  for (const double bytes : traffic) total += bytes;
  return total;
}

}  // namespace trainmem
