#include "engine/tape/rows.h"

#include <algorithm>
#include <tuple>

#include "engine/sort.h"
#include "engine/tape/rule.h"

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
    case Component::weights: return (place == reference_place ? "reference_weights." : "weights.") + std::string(role);
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

std::vector<bool> alive_after(const Recording& tape, std::size_t count) {
  std::vector<bool> alive(tape.storages.size());
  for (std::size_t i = 0; i < count && i < tape.events.size(); ++i)
    alive[storage_index(tape.events[i])] = allocates(tape.events[i]);
  return alive;
}

std::vector<Row> rows_at(const Recording& tape, std::uint32_t event) {
  const std::vector<bool> alive = alive_after(tape, std::size_t{event} + 1);
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

std::string place_at(const Recording& tape, std::uint32_t event) {
  const auto after = std::upper_bound(tape.place_marks.begin(), tape.place_marks.end(), event,
                                      [](std::uint32_t e, const PlaceMark& mark) { return e < mark.first_event; });
  if (after == tape.place_marks.begin()) return "";
  const PlaceMark& mark = *(after - 1);
  const std::string& place = tape.places[mark.place];
  if (mark.layer < 0) return place;
  const std::string layer = "layer " + std::to_string(mark.layer);
  return place.empty() ? layer : layer + " / " + place;
}

}  // namespace trainmem
