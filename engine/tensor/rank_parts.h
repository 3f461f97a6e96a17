// What the ranks of a group divide, written to one tape: see DividedStretch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/tensor/run.h"

namespace trainmem {

/// Calls `take` with 0 to ranks - 1. What rank 0 does is part of the tape, what the others do stands beside it. `take`
/// leaves place and phase as they were.
template <class Take>
void record_ranks(std::size_t ranks, Take take) {
  Recording& tape = active_run().tape;
  DividedStretch stretch;
  stretch.first_event = static_cast<std::uint32_t>(tape.events.size());
  take(std::size_t{0});
  if (ranks < 2) return;
  stretch.end_event = static_cast<std::uint32_t>(tape.events.size());
  const std::vector<PlaceMark> marks = tape.place_marks;
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    take(rank);
    const auto end = tape.events.begin() + static_cast<std::ptrdiff_t>(stretch.end_event);
    stretch.of_others.emplace_back(end, tape.events.end());
    tape.events.erase(end, tape.events.end());
    tape.place_marks = marks;
  }
  tape.divided.push_back(std::move(stretch));
}

}  // namespace trainmem
