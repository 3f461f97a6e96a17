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

}  // namespace

std::vector<TimelinePoint> timeline(const Recording& tape) {
  // One point for each stretch of one layer, or of one place outside the layers, in initialisation and last step.
  std::vector<TimelinePoint> points;
  std::int32_t last_step = 0;
  for (const PhaseMark& mark : tape.phases) last_step = std::max(last_step, mark.step);
  Bytes total = 0;
  ComponentBytes components{};
  std::size_t phase = 0;
  std::size_t place = 0;
  std::int32_t step = 0;
  Phase now = Phase::initialise;
  std::uint32_t open_place = 0;
  std::int32_t open_layer = -2;
  bool opened = false;
  const PlaceMark* mark = nullptr;
  for (std::uint32_t i = 0; i < tape.events.size(); ++i) {
    for (; phase < tape.phases.size() && tape.phases[phase].first_event <= i; ++phase) {
      step = tape.phases[phase].step;
      if (tape.phases[phase].phase != now) opened = false;
      now = tape.phases[phase].phase;
    }
    for (; place < tape.place_marks.size() && tape.place_marks[place].first_event <= i; ++place)
      mark = &tape.place_marks[place];
    const std::int32_t event = tape.events[i];
    const StorageRecord& storage = tape.storages[static_cast<std::size_t>(std::abs(event) - 1)];
    const Bytes change = event > 0 ? storage.bytes : -storage.bytes;
    total += change;
    components[static_cast<std::size_t>(storage.component)] += change;
    if (step != 0 && step != last_step) continue;
    const std::int32_t layer = mark == nullptr ? -1 : mark->layer;
    const std::uint32_t where = mark == nullptr || layer >= 0 ? 0 : mark->place;
    if (!opened || layer != open_layer || where != open_place) {
      points.push_back({now, name(now), total, components});
      if (layer >= 0)
        points.back().where += " / layer " + std::to_string(layer);
      else if (!tape.places[where].empty())
        points.back().where += " / " + tape.places[where];
      opened = true;
      open_layer = layer;
      open_place = where;
    } else if (total > points.back().allocated) {
      points.back().allocated = total;
      points.back().components = components;
    }
  }
  return thinned(std::move(points));
}

}  // namespace trainmem
