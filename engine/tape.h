// The tape: what a training step allocates and frees, in order, on which stream.
//
// A Recording is the whole tape of a run. The (net, peak) fold of the same forward lives in tape_fold.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/result.h"

namespace trainmem {

/// CUDA streams that own a memory pool each.
enum class Stream : std::uint8_t { compute, all_gather_copy_in, all_gather, reduce_scatter, communication };
inline constexpr int stream_count = 5;

/// One storage of a recording.
struct StorageRecord {
  Bytes bytes = 0;
  Stream stream = Stream::compute;
  Component component = Component::activations;
  DType dtype = DType::float32;
  std::uint32_t row = 0;        ///< index into Recording::rows
  std::int32_t layer = -1;      ///< -1: outside the layers
};

/// Beginning of a phase: events from first_event on belong to it.
struct PhaseMark {
  std::uint32_t first_event = 0;
  std::int32_t step = 0;        ///< 1 for the first step; 0 for initialise
  Phase phase = Phase::initialise;
  std::string name;             ///< "step 2 forward", as the recorded steps name it
};

/// A place in the model: events from first_event on happen there.
struct PlaceMark {
  std::uint32_t first_event = 0;
  std::uint32_t place = 0;      ///< index into Recording::places
  std::int32_t layer = -1;
};

struct Recording {
  std::vector<StorageRecord> storages;
  std::vector<std::int32_t> events;  ///< +k allocates storage k - 1, -k frees it
  std::vector<PhaseMark> phases;
  std::vector<PlaceMark> place_marks;
  std::vector<std::string> places;
  std::vector<Row> rows;             ///< one per family of tensors; copies and bytes are filled by rows_at()
};

}  // namespace trainmem
