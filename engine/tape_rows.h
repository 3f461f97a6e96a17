// Who is alive at a moment of a full recording, and how it came to that: rows and the timeline.
#pragma once

#include <string>
#include <vector>

#include "engine/result.h"
#include "engine/tape.h"

namespace trainmem {

/// Families of tensors alive after event `event`, largest first; they sum to what is allocated then.
std::vector<Row> rows_at(const Recording& tape, std::uint32_t event);

/// "layer 31 / mlp": the place of an event.
std::string place_at(const Recording& tape, std::uint32_t event);

/// The curve over initialisation and the last step: one point for each place passed, with its highest moment. Where
/// there are many places, one point for each stretch of them within a phase: some 420 in all, with the peak of every
/// phase, and at least the first and the last point of each.
std::vector<TimelinePoint> timeline(const Recording& tape);

}  // namespace trainmem
