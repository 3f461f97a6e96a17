// The tape: what a training step allocates and frees, in order, on which stream.
//
// One run writes one Recording. Its readers: fold.h (net and peak of stretches, repeats in closed form), expand.h (the
// recording without repeats), allocator.h (reserved memory), rows.h (who is alive at a moment), timeline.h (the curve),
// moments.h (what can be the highest), bandwidth/traffic.h (bytes moved and arithmetic, by phase).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/result.h"
#include "engine/size/size.h"

namespace trainmem {

struct Rule;

/// CUDA streams that own a memory pool each.
enum class Stream : std::uint8_t { compute, all_gather_copy_in, all_gather, reduce_scatter, communication };
inline constexpr int stream_count = 5;

inline constexpr int max_rank = 5;  ///< dimensions of a tensor, at most

/// What happens to one storage of a recording: +k allocates storage k - 1, -k frees it.
using Event = std::int32_t;
constexpr Event allocation_of(std::int32_t storage) { return storage + 1; }
constexpr Event release_of(std::int32_t storage) { return -(storage + 1); }
constexpr bool allocates(Event event) { return event > 0; }
/// Index into Recording::storages of what an event allocates or frees.
constexpr std::size_t storage_index(Event event) { return static_cast<std::size_t>((event > 0 ? event : -event) - 1); }

/// One storage of a recording.
struct StorageRecord {
  Bytes bytes = 0;
  std::uint32_t size_line = 0;  ///< line of the size trace, see size/size.h
  Stream stream = Stream::compute;
  Component component = Component::activations;
  DType dtype = DType::float32;
  std::int8_t rank = 0;
  bool in_kernel = false;   ///< taken by a kernel for itself while it runs: the dispatcher does not see it
  std::int32_t layer = -1;  ///< -1: outside the layers
  std::uint32_t place = 0;  ///< index into Recording::places
  std::array<std::int64_t, max_rank> shape{};
  const Rule* made_by = nullptr;
  const Rule* kept_by = nullptr;  ///< null: a temporary
  const char* role = nullptr;     ///< null: named after the operation
};

/// Beginning of a phase: events from first_event on belong to it.
struct PhaseMark {
  std::uint32_t first_event = 0;
  std::int32_t step = 0;  ///< 1 for the first step; 0 for initialise
  Phase phase = Phase::initialise;
  std::string name;  ///< "init", "step 2 forward", as the recorded steps name it
};

/// A place in the model: events from first_event on happen there.
struct PlaceMark {
  std::uint32_t first_event = 0;
  std::uint32_t place = 0;
  std::int32_t layer = -1;
};

/// How a pass through the model meets its layers: from the first to the last, or, as in backward, the other way.
enum class LayerOrder : std::uint8_t { rising, falling };

/// Events [first_event, end_event) happen `times` times in a row. Repeats nest or lie apart.
struct RepeatMark {
  std::uint32_t first_event = 0;
  std::uint32_t end_event = 0;
  Size times = 1;
  std::int32_t layer = -1;                ///< the first of the layers that take turns; -1: what repeats is not layers
  LayerOrder order = LayerOrder::rising;  ///< in which the layers take turns
};

/// Arithmetic, and memory traffic that no allocation shows: see tensor/work.h.
struct WorkMark {
  std::uint32_t event = 0;  ///< the event that follows
  Component component = Component::weights;
  bool forward = true;    ///< of a forward operation; within backward: a recomputation
  Bytes bytes = 0;        ///< read or written
  double operations = 0;  ///< floating-point operations
};

/// Events [first_event, end_event) are the first rank's part of what the ranks of a group divide. The storages that
/// other ranks have instead are in Recording::storages, too, and no event of the first rank names them.
struct DividedStretch {
  std::uint32_t first_event = 0;
  std::uint32_t end_event = 0;
  std::vector<std::vector<Event>> of_others;  ///< what each of the other ranks that were recorded does instead
};

struct Recording {
  std::vector<StorageRecord> storages;
  std::vector<Event> events;
  std::vector<PhaseMark> phases;
  std::vector<PlaceMark> place_marks;
  std::vector<std::string> places{""};  ///< "attention", "mlp", "loss"; 0: the model itself
  std::vector<WorkMark> work;           ///< in order of event
  std::vector<RepeatMark> repeats;      ///< in order of first_event, outer before inner; empty unless folded
  std::vector<DividedStretch> divided;  ///< in order of first_event, all of the same ranks; empty: all ranks do alike
  std::int64_t adapter_elements = 0;    ///< of LoRA's adapters of all layers, none of them a shard

  const StorageRecord& storage_of(Event event) const { return storages[storage_index(event)]; }
  /// What an event adds to what is allocated; negative: it frees.
  Bytes change_by(Event event) const { return allocates(event) ? storage_of(event).bytes : -storage_of(event).bytes; }
};

}  // namespace trainmem
