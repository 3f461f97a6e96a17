// The (net, peak) fold of a tape.
//
// A stretch of tape is summarised by what it adds and the highest point it reaches; joining two stretches is
// (n1 + n2, max(p1, n1 + p2)), happening k times is (k n, p + max(0, (k - 1) n)). So a tape with repeat marks
// costs what its distinct events cost, however many layers or micro-batches they stand for.
#pragma once

#include <vector>

#include "engine/tape/tape.h"

namespace trainmem {

/// Bytes alive at a moment, by component.
struct Alive {
  Bytes total = 0;
  ComponentBytes components{};
};

/// One phase mark's stretch: the highest moment and the end.
struct FoldedPhase {
  std::int32_t step = 0;
  Phase phase = Phase::initialise;
  Alive peak;
  Alive end;
  std::uint32_t peak_event = 0;  ///< index of the event that reaches the peak
};

/// One entry for each phase mark, in order.
std::vector<FoldedPhase> fold(const Recording& tape);

/// The phase with the highest moment.
const FoldedPhase& highest(const std::vector<FoldedPhase>& phases);

}  // namespace trainmem
