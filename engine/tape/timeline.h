// How a full recording came to its peak: what is allocated, over the places that the step passes.
#pragma once

#include <vector>

#include "engine/result.h"
#include "engine/tape/tape.h"

namespace trainmem {

/// The curve over initialisation and the last step: one point for each place passed, with its highest moment. Where
/// there are many places, one point for each stretch of them within a phase: some 420 in all, with the peak of every
/// phase, and at least the first and the last point of each.
std::vector<TimelinePoint> timeline(const Recording& tape);

}  // namespace trainmem
