// The moments of a traced tape that can be its highest, as polynomials in the sizes.
//
// A stretch that is repeated has its highest moment in its first turn or in its last one, which begins one net change
// higher for each turn before it. A moment that is at most as high as another, whatever the sizes, is left out.
#pragma once

#include <array>
#include <vector>

#include "engine/result.h"
#include "engine/size/size_trace.h"
#include "engine/tape/tape.h"

namespace trainmem {

/// What is alive at a moment.
struct Moment {
  /// The total for some values of the atoms: where one of them is lower than another moment's, no proof is tried.
  using Samples = std::array<double, 8>;

  ByComponent<Polynomial> components;
  Polynomial total;
  Phase phase = Phase::initialise;
  Samples samples{};
};

/// In order of time; of moments that are equally high the first is the one that fold() finds.
std::vector<Moment> highest_moments(const Recording& tape, SizeTrace& trace);

}  // namespace trainmem
