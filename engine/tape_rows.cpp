#include "engine/tape_rows.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "engine/sort.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

namespace {

auto key_of(const StorageRecord& s) {
  return std::tie(s.component, s.place, s.role, s.made_by, s.kept_by, s.dtype, s.rank, s.shape);
}

std::string shape_text(const StorageRecord& s, const char* times) {
  std::string text;
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.rank); ++i)
    text += (i == 0 ? "" : times) + std::to_string(s.shape[i]);
  return text.empty() ? "1" : text;
}

std::string bytes_text(DType dtype) { return dtype == DType::nf4 ? "0.5" : std::to_string(element_bytes(dtype)); }

std::string row_name(const Recording& tape, const StorageRecord& s) {
  const char* role = s.role != nullptr ? s.role : s.made_by->name;
  const std::string& place = tape.places[s.place];
  switch (s.component) {
    case Component::weights: return std::string("weights.") + role;
    case Component::gradients: return place.empty() ? "gradients" : "gradients." + place;
    case Component::optimizer_states: return std::string("optimizer_states.") + role;
    default: return place.empty() ? role : place + "." + role;
  }
}

Row make_row(const Recording& tape, const StorageRecord& s, std::int64_t copies) {
  Row row;
  row.name = row_name(tape, s);
  row.shape = shape_text(s, "x");
  row.dtype = name(s.dtype);
  row.elements = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.rank); ++i) row.elements *= s.shape[i];
  row.element_bytes = static_cast<double>(bits(s.dtype)) / 8;
  row.copies = copies;
  row.bytes = s.bytes * copies;
  row.component = s.component;
  if (s.kept_by != nullptr) {
    row.why = s.kept_by->keeps;
    row.source = s.kept_by->source;
  } else {
    row.why = std::string("temporary: result of ") + s.made_by->name + ", in use at this moment";
    row.source = s.made_by->source;
  }
  row.formula = shape_text(s, " * ") + " * " + bytes_text(s.dtype) + " bytes";
  if (copies > 1) row.formula += " * " + std::to_string(copies);
  return row;
}

}  // namespace

std::vector<Row> rows_at(const Recording& tape, std::uint32_t event) {
  std::vector<bool> alive(tape.storages.size());
  for (std::uint32_t i = 0; i <= event && i < tape.events.size(); ++i)
    alive[static_cast<std::size_t>(std::abs(tape.events[i]) - 1)] = tape.events[i] > 0;
  std::vector<std::uint32_t> living;
  for (std::uint32_t i = 0; i < alive.size(); ++i)
    if (alive[i] && tape.storages[i].bytes > 0) living.push_back(i);
  const auto storage = [&](std::uint32_t i) -> const StorageRecord& { return tape.storages[i]; };
  sort_indices(living, [&](Index a, Index b) { return key_of(storage(a)) < key_of(storage(b)); });
  std::vector<Row> rows;
  for (std::size_t i = 0; i < living.size();) {
    std::size_t end = i + 1;
    while (end < living.size() && key_of(storage(living[end])) == key_of(storage(living[i]))) ++end;
    rows.push_back(make_row(tape, storage(living[i]), static_cast<std::int64_t>(end - i)));
    i = end;
  }
  const auto order = sorted_indices(rows.size(), [&](Index i, Index j) {
    const Row& a = rows[i];
    const Row& b = rows[j];
    return std::tie(b.bytes, a.name, a.shape, a.dtype, a.why, a.source) <
           std::tie(a.bytes, b.name, b.shape, b.dtype, b.why, b.source);
  });
  std::vector<Row> sorted;
  for (const Index i : order) sorted.push_back(std::move(rows[i]));
  return sorted;
}

namespace {

const PlaceMark* mark_at(const Recording& tape, std::uint32_t event) {
  const auto after = std::upper_bound(tape.place_marks.begin(), tape.place_marks.end(), event,
                                      [](std::uint32_t e, const PlaceMark& mark) { return e < mark.first_event; });
  return after == tape.place_marks.begin() ? nullptr : &*(after - 1);
}

std::string place_text(const Recording& tape, const PlaceMark* mark) {
  if (mark == nullptr) return "";
  std::string text;
  if (mark->layer >= 0) text = "layer " + std::to_string(mark->layer);
  const std::string& place = tape.places[mark->place];
  if (!place.empty()) text += (text.empty() ? "" : " / ") + place;
  return text;
}

}  // namespace

std::string place_at(const Recording& tape, std::uint32_t event) { return place_text(tape, mark_at(tape, event)); }

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

  void change(std::int32_t event) {
    const StorageRecord& storage = tape_.storages[static_cast<std::size_t>(std::abs(event) - 1)];
    const Bytes bytes = event > 0 ? storage.bytes : -storage.bytes;
    total_ += bytes;
    components_[static_cast<std::size_t>(storage.component)] += bytes;
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
