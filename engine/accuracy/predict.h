// The engine's answer to a recorded case: the same steps run, and measured phase by phase.
#pragma once

#include <string>
#include <vector>

#include "engine/accuracy/trace_case.h"
#include "engine/tape/replay.h"
#include "engine/tape/tape.h"

namespace trainmem {

struct PredictedPhase {
  std::string name;
  Bytes peak = 0;
  Bytes end = 0;
  Bytes peak_without_scratch = 0;  ///< leaving out what kernels allocate inside
  std::size_t peak_event = 0;      ///< the event that reaches that
};

struct Prediction {
  std::string refused;  ///< why the engine gives no answer; empty: it does
  Recording recording;  ///< with what a recorder sees; all else has no bytes
  std::vector<PredictedPhase> phases;
  Replay by_default;
  Replay expandable_segments;
};

/// Runs the case's steps as its recorder did.
Prediction predict(const TraceCase& trace);

}  // namespace trainmem
