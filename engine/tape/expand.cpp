#include "engine/tape/expand.h"

#include <iterator>

namespace trainmem {

namespace {

/// Where a storage of the folded recording was allocated. A unit is as many layers as take turns together: 0 is the
/// group, -1 what lies below it, 1 what lies above. A pass goes through all layers once.
struct Origin {
  std::int32_t pass = -1;  ///< -1: outside the layers
  std::int32_t unit = 0;
  std::int32_t layer = 0;      ///< of the storage, counted from the unit's lowest one
  std::uint32_t ordinal = 0;   ///< among the allocations of that layer by the unit in this pass
  std::uint32_t position = 0;  ///< among all allocations of the unit in this pass
};

/// What the group allocates in one pass.
struct GroupPass {
  LayerOrder order = LayerOrder::rising;
  std::vector<std::uint32_t> storages;                ///< of the folded recording
  std::vector<std::vector<std::uint32_t>> positions;  ///< in `storages`, of each layer: see index_of
  std::vector<std::int32_t> copies;                   ///< of the full one: turn by turn
};

constexpr std::int32_t outside = 1 << 20;  ///< unit of events that are of no layer
constexpr std::int32_t nothing = -1;

class Expansion {
 public:
  Expansion(const Recording& folded, Recording& full) : folded_(folded), full_(full) {}

  bool operator()() {
    full_ = {};
    full_.places = folded_.places;
    if (!find_group() || !trace_origins()) return false;
    reserve();
    ids_.assign(folded_.storages.size(), nothing);
    const auto end = static_cast<std::uint32_t>(folded_.events.size());
    std::uint32_t next = 0;
    for (const RepeatMark& mark : folded_.repeats) {
      if (mark.layer < 0 || mark.first_event == mark.end_event) continue;
      if (!write(next, mark.first_event, outside, 0)) return false;
      if (!write_stretch(mark)) return false;
      next = mark.end_event;
    }
    if (!write(next, end, outside, 0)) return false;
    marks_at(end, outside, 0);
    return true;
  }

 private:
  /// The layers that take turns, if any do.
  bool find_group() {
    for (const RepeatMark& mark : folded_.repeats) {
      if (mark.layer < 0 || mark.times.recorded() == 1) continue;
      if (times_ > 1 && (mark.layer != first_ || mark.times.recorded() != times_)) return false;
      first_ = mark.layer;
      times_ = static_cast<std::int32_t>(mark.times.recorded());
    }
    above_ = first_;
    for (const RepeatMark& mark : folded_.repeats)
      if (mark.layer > first_ && (above_ == first_ || mark.layer < above_)) above_ = mark.layer;
    length_ = (above_ - first_) / times_;
    return times_ == 1 || (length_ > 0 && length_ * times_ == above_ - first_);
  }

  /// Counted from the unit's lowest one, as if the group had one turn.
  std::int32_t layer_in_unit(std::int32_t layer, std::int32_t unit) const {
    return (layer < above_ ? layer : layer - (times_ - 1) * length_) - first_ - unit * length_;
  }

  /// Of a layer counted from a unit's lowest one, which may also be of a neighbour (what is gathered ahead) or none.
  std::size_t index_of(std::int32_t layer) const {
    const bool near = layer >= -length_ && layer < 2 * length_;
    return near ? static_cast<std::size_t>(layer + length_) + 1 : 0;
  }
  std::size_t layer_indices() const { return static_cast<std::size_t>(3 * length_) + 1; }

  std::int32_t unit_of(std::int32_t layer) const {
    if (times_ == 1) return outside;
    if (layer < first_) return -(first_ - layer + length_ - 1) / length_;
    return layer < above_ ? 0 : 1 + (layer - above_) / length_;
  }

  bool trace_origins() {
    origins_.resize(folded_.storages.size());
    if (times_ == 1) return true;
    const RepeatMark* previous = nullptr;
    std::int32_t unit = outside;
    std::uint32_t position = 0;
    std::vector<std::uint32_t> ordinals;
    for (const RepeatMark& mark : folded_.repeats) {
      if (mark.layer < 0) continue;
      const bool falls = mark.order == LayerOrder::falling;
      const bool goes_on = previous != nullptr && mark.order == previous->order &&
                           (falls ? mark.layer < previous->layer : mark.layer > previous->layer);
      if (!goes_on) {
        passes_.emplace_back();
        passes_.back().order = mark.order;
      }
      if (!goes_on || unit_of(mark.layer) != unit) {
        position = 0;
        ordinals.assign(layer_indices(), 0);
      }
      unit = unit_of(mark.layer);
      previous = &mark;
      for (std::uint32_t i = mark.first_event; i < mark.end_event; ++i) {
        if (!allocates(folded_.events[i])) continue;
        const std::size_t storage = storage_index(folded_.events[i]);
        const std::int32_t layer = layer_in_unit(folded_.storages[storage].layer, unit);
        const std::size_t index = index_of(layer);
        origins_[storage] = {static_cast<std::int32_t>(passes_.size()) - 1, unit, layer, ordinals[index]++, position++};
        if (unit != 0) continue;
        passes_.back().storages.push_back(static_cast<std::uint32_t>(storage));
        passes_.back().positions.resize(layer_indices());
        passes_.back().positions[index].push_back(origins_[storage].position);
      }
    }
    for (GroupPass& pass : passes_)
      pass.copies.assign(pass.storages.size() * static_cast<std::size_t>(times_), nothing);
    return true;
  }

  void reserve() {
    std::size_t events = folded_.events.size();
    std::size_t storages = folded_.storages.size();
    const auto others = static_cast<std::size_t>(times_) - 1;
    for (const RepeatMark& mark : folded_.repeats)
      if (mark.layer >= 0 && mark.times.recorded() > 1) events += others * (mark.end_event - mark.first_event);
    for (const GroupPass& pass : passes_) storages += others * pass.storages.size();
    full_.events.reserve(events);
    full_.storages.reserve(storages);
    alive_.reserve(storages);
    full_.place_marks.reserve(folded_.place_marks.size() * static_cast<std::size_t>(times_));
  }

  bool write_stretch(const RepeatMark& mark) {
    const std::int32_t unit = unit_of(mark.layer);
    if (unit != 0) return write(mark.first_event, mark.end_event, unit, 0);
    const bool falls = mark.order == LayerOrder::falling;
    const std::size_t place = next_place_;
    for (std::int32_t i = 0; i < times_; ++i) {
      next_place_ = place;
      if (!write(mark.first_event, mark.end_event, 0, falls ? times_ - 1 - i : i)) return false;
    }
    return true;
  }

  /// Writes events [first, end), which are of a unit; of the group it is one turn, counted from its lowest layers.
  bool write(std::uint32_t first, std::uint32_t end, std::int32_t unit, std::int32_t turn) {
    for (std::uint32_t i = first; i < end; ++i) {
      marks_at(i, unit, turn);
      const Event event = folded_.events[i];
      const std::size_t storage = storage_index(event);
      if (allocates(event)) {
        allocate(storage, unit, turn);
        continue;
      }
      const std::int32_t freed = resolve(storage, unit, turn);
      if (freed == nothing || alive_[static_cast<std::size_t>(freed)] == 0) return false;
      alive_[static_cast<std::size_t>(freed)] = 0;
      full_.events.push_back(release_of(freed));
    }
    return true;
  }

  void allocate(std::size_t storage, std::int32_t unit, std::int32_t turn) {
    const auto id = static_cast<std::int32_t>(full_.storages.size());
    full_.storages.push_back(folded_.storages[storage]);
    StorageRecord& record = full_.storages.back();
    record.layer = layer_in(record.layer, unit, turn);
    alive_.push_back(1);
    full_.events.push_back(allocation_of(id));
    if (unit == 0)
      copy(origins_[storage], turn) = id;
    else
      ids_[storage] = id;
  }

  std::int32_t& copy(const Origin& origin, std::int32_t turn) {
    GroupPass& pass = passes_[static_cast<std::size_t>(origin.pass)];
    return pass.copies[static_cast<std::size_t>(turn) * pass.storages.size() + origin.position];
  }

  /// The storage of the full recording that is meant where the folded one names `storage`.
  std::int32_t resolve(std::size_t storage, std::int32_t unit, std::int32_t turn) {
    const Origin& origin = origins_[storage];
    if (origin.pass < 0) return ids_[storage];
    if (origin.unit == 0) {
      if (unit == 0) return copy(origin, turn);
      if (unit == -1) return copy(origin, 0);
      if (unit == 1) return copy(origin, times_ - 1);
      if (unit != outside) return nothing;
      const LayerOrder order = passes_[static_cast<std::size_t>(origin.pass)].order;
      return copy(origin, order == LayerOrder::falling ? 0 : times_ - 1);
    }
    if (unit != 0) return ids_[storage];
    if (origin.unit != -1 && origin.unit != 1) return nothing;
    const std::int32_t neighbour = turn + origin.unit;
    if (neighbour < 0 || neighbour == times_) return ids_[storage];
    const GroupPass& pass = passes_[static_cast<std::size_t>(origin.pass)];
    if (pass.positions.empty()) return nothing;
    const std::vector<std::uint32_t>& positions = pass.positions[index_of(origin.layer)];
    if (origin.ordinal >= positions.size()) return nothing;
    const std::uint32_t position = positions[origin.ordinal];
    const StorageRecord& seen = folded_.storages[storage];
    const StorageRecord& meant = folded_.storages[pass.storages[position]];
    if (seen.bytes != meant.bytes || seen.made_by != meant.made_by || seen.stream != meant.stream) return nothing;
    return copy({origin.pass, 0, 0, 0, position}, neighbour);
  }

  /// The layer that is meant by one that the folded recording names.
  std::int32_t layer_in(std::int32_t layer, std::int32_t unit, std::int32_t turn) const {
    if (layer < 0 || unit == outside) return layer;
    if (unit == 0) return layer < above_ ? layer + turn * length_ : layer - (times_ - 1 - turn) * length_;
    if (unit > 0 && unit_of(layer) == 0) return layer + (times_ - 1) * length_;
    return layer;
  }

  /// The marks that stand before an event.
  void marks_at(std::uint32_t event, std::int32_t unit, std::int32_t turn) {
    const auto now = static_cast<std::uint32_t>(full_.events.size());
    for (; next_phase_ < folded_.phases.size() && folded_.phases[next_phase_].first_event <= event; ++next_phase_) {
      full_.phases.push_back(folded_.phases[next_phase_]);
      full_.phases.back().first_event = now;
    }
    for (; next_place_ < folded_.place_marks.size() && folded_.place_marks[next_place_].first_event <= event;
         ++next_place_) {
      PlaceMark mark = folded_.place_marks[next_place_];
      mark.first_event = now;
      mark.layer = layer_in(mark.layer, unit, turn);
      if (!full_.place_marks.empty()) {
        const PlaceMark& last = full_.place_marks.back();
        if (last.place == mark.place && last.layer == mark.layer) continue;
      }
      full_.place_marks.push_back(mark);
    }
  }

  const Recording& folded_;
  Recording& full_;
  std::int32_t first_ = 0;   ///< layer of the group
  std::int32_t above_ = 0;   ///< first layer above it
  std::int32_t length_ = 1;  ///< layers of a turn
  std::int32_t times_ = 1;
  std::vector<Origin> origins_;
  std::vector<GroupPass> passes_;
  std::vector<std::int32_t> ids_;  ///< in the full recording, of storages that have one copy
  std::vector<std::uint8_t> alive_;
  std::size_t next_phase_ = 0;
  std::size_t next_place_ = 0;
};

}  // namespace

bool expand(const Recording& folded, Recording& full) { return Expansion(folded, full)(); }

}  // namespace trainmem
