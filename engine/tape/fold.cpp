#include "engine/tape/fold.h"

#include <algorithm>

namespace trainmem {

namespace {

void add(Alive& to, const Alive& what, std::int64_t times = 1) {
  to.total += what.total * times;
  for (std::size_t i = 0; i < to.components.size(); ++i) to.components[i] += what.components[i] * times;
}

/// A stretch within one phase; its peak is counted from the beginning of the enclosing frame.
struct Stretch {
  std::size_t phase = 0;
  Alive peak;
  Alive end;
  std::uint32_t peak_event = 0;
};

/// What happens between the beginning and the end of a repeat mark.
struct Frame {
  Alive now;
  std::vector<Stretch> stretches;
  std::int64_t times = 1;
  std::uint32_t end_event = 0;

  void open(std::size_t phase, std::uint32_t event) { stretches.push_back({phase, now, now, event}); }
  void note(const Alive& alive, std::uint32_t event) {
    if (alive.total > stretches.back().peak.total) {
      stretches.back().peak = alive;
      stretches.back().peak_event = event;
    }
  }
};

/// Joins a finished frame to the one around it.
void join(Frame& outer, const Frame& inner) {
  for (std::size_t i = 0; i < inner.stretches.size(); ++i) {
    const Stretch& stretch = inner.stretches[i];
    if (i > 0) outer.open(stretch.phase, stretch.peak_event);
    Alive peak = outer.now;
    add(peak, stretch.peak);
    if (inner.now.total > 0) add(peak, inner.now, inner.times - 1);
    outer.note(peak, stretch.peak_event);
    Alive end = outer.now;
    add(end, stretch.end);
    add(end, inner.now, inner.times - 1);
    outer.stretches.back().end = end;
  }
  add(outer.now, inner.now, inner.times);
}

}  // namespace

std::vector<FoldedPhase> fold(const Recording& tape) {
  std::vector<Frame> frames(1);
  frames[0].end_event = ~std::uint32_t{0};
  std::size_t next_phase = 0;
  std::size_t next_repeat = 0;
  const auto events = static_cast<std::uint32_t>(tape.events.size());
  frames[0].open(0, 0);
  for (std::uint32_t i = 0; i <= events; ++i) {
    while (frames.size() > 1 && frames.back().end_event == i) {
      Frame inner = std::move(frames.back());
      frames.pop_back();
      inner.stretches.back().end = inner.now;
      join(frames.back(), inner);
    }
    for (; next_phase < tape.phases.size() && tape.phases[next_phase].first_event == i; ++next_phase) {
      if (next_phase == 0) continue;
      frames.back().stretches.back().end = frames.back().now;
      frames.back().open(next_phase, i);
    }
    for (; next_repeat < tape.repeats.size() && tape.repeats[next_repeat].first_event == i; ++next_repeat) {
      const RepeatMark& mark = tape.repeats[next_repeat];
      if (mark.end_event == mark.first_event || mark.times.recorded() == 1) continue;
      Frame frame;
      frame.times = mark.times.recorded();
      frame.end_event = mark.end_event;
      frame.open(frames.back().stretches.back().phase, i);
      frames.push_back(std::move(frame));
    }
    if (i == events) break;
    const Event event = tape.events[i];
    const Bytes change = tape.change_by(event);
    Frame& frame = frames.back();
    frame.now.total += change;
    frame.now.components[tape.storage_of(event).component] += change;
    if (allocates(event)) frame.note(frame.now, i);
  }
  frames[0].stretches.back().end = frames[0].now;

  std::vector<FoldedPhase> result;
  result.reserve(tape.phases.size());
  for (const PhaseMark& mark : tape.phases) result.push_back({mark.step, mark.phase, {}, {}, 0});
  // A phase may lie in several stretches: around repeats, its last end counts.
  for (const Stretch& stretch : frames[0].stretches) {
    FoldedPhase& phase = result[stretch.phase];
    if (stretch.peak.total >= phase.peak.total) {
      phase.peak = stretch.peak;
      phase.peak_event = stretch.peak_event;
    }
    phase.end = stretch.end;
  }
  return result;
}

const FoldedPhase& highest(const std::vector<FoldedPhase>& phases) {
  return *std::max_element(phases.begin(), phases.end(),
                           [](const FoldedPhase& a, const FoldedPhase& b) { return a.peak.total < b.peak.total; });
}

}  // namespace trainmem
