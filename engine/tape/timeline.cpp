#include "engine/tape/timeline.h"

#include <algorithm>

namespace trainmem {

namespace {

constexpr std::size_t most_points = 420;  // more than a screen's width can tell apart

/// Of each stretch of so many points within a phase the first highest one, and the last point of the phase.
std::vector<TimelinePoint> thinned(std::vector<TimelinePoint> points) {
  const std::size_t stretch = (points.size() + most_points - 1) / most_points;
  if (stretch <= 1) return points;
  std::vector<TimelinePoint> kept;
  std::size_t taken = 0;  // points of the stretch that the last one kept stands for
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool begins = i == 0 || points[i].phase != points[i - 1].phase;
    const bool ends = i + 1 == points.size() || points[i].phase != points[i + 1].phase;
    if (begins || ends || taken == stretch) {
      kept.push_back(std::move(points[i]));
      taken = 1;
      continue;
    }
    ++taken;
    if (points[i].allocated > kept.back().allocated) kept.back() = points[i];
  }
  return kept;
}

/// Draws one point for each stretch of one layer, or of one place outside the layers, in initialisation and last step.
class TimelineWalk {
 public:
  explicit TimelineWalk(const Recording& tape) : tape_(tape) {
    for (const PhaseMark& mark : tape.phases) last_step_ = std::max(last_step_, mark.step);
  }

  std::vector<TimelinePoint> operator()() {
    for (std::uint32_t i = 0; i < tape_.events.size(); ++i) {
      pass_marks(i);
      change(tape_.events[i]);
      if (step_ == 0 || step_ == last_step_) draw();
    }
    hold_to_the_end();
    return std::move(points_);
  }

 private:
  /// Marks that stand before event `i`.
  void pass_marks(std::uint32_t i) {
    for (; next_phase_ < tape_.phases.size() && tape_.phases[next_phase_].first_event <= i; ++next_phase_) {
      const PhaseMark& mark = tape_.phases[next_phase_];
      step_ = mark.step;
      if (mark.phase != phase_) opened_ = false;
      phase_ = mark.phase;
    }
    for (; next_place_ < tape_.place_marks.size() && tape_.place_marks[next_place_].first_event <= i; ++next_place_) {
      const PlaceMark& mark = tape_.place_marks[next_place_];
      layer_ = mark.layer;
      place_ = mark.layer >= 0 ? 0 : mark.place;
    }
  }

  /// Phases that begin after the last event: memory stays as it is.
  void hold_to_the_end() {
    for (; next_phase_ < tape_.phases.size(); ++next_phase_) {
      const PhaseMark& mark = tape_.phases[next_phase_];
      if (mark.step == last_step_ && mark.phase != phase_)
        points_.push_back({mark.phase, name(mark.phase), total_, components_});
      phase_ = mark.phase;
    }
  }

  void change(Event event) {
    const Bytes bytes = tape_.change_by(event);
    total_ += bytes;
    components_[tape_.storage_of(event).component] += bytes;
  }

  void draw() {
    if (opened_ && layer_ == open_layer_ && place_ == open_place_) {
      if (total_ <= points_.back().allocated) return;
      points_.back().allocated = total_;
      points_.back().components = components_;
      return;
    }
    points_.push_back({phase_, name(phase_), total_, components_});
    if (layer_ >= 0)
      points_.back().where += " / layer " + std::to_string(layer_);
    else if (!tape_.places[place_].empty())
      points_.back().where += " / " + tape_.places[place_];
    opened_ = true;
    open_layer_ = layer_;
    open_place_ = place_;
  }

  const Recording& tape_;
  std::vector<TimelinePoint> points_;
  std::int32_t last_step_ = 0;
  std::size_t next_phase_ = 0;
  std::size_t next_place_ = 0;
  std::int32_t step_ = 0;
  Phase phase_ = Phase::initialise;
  std::int32_t layer_ = -1;
  std::uint32_t place_ = 0;  ///< index into Recording::places; within a layer 0
  Bytes total_ = 0;
  ComponentBytes components_{};
  bool opened_ = false;  ///< the last point goes on where layer and place are its own
  std::int32_t open_layer_ = -1;
  std::uint32_t open_place_ = 0;
};

}  // namespace

std::vector<TimelinePoint> timeline(const Recording& tape) { return thinned(TimelineWalk(tape)()); }

}  // namespace trainmem
