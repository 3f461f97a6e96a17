// The engine's answer to published runs, beside what was read.
#pragma once

#include <string>
#include <vector>

#include "engine/accuracy/measured_case.h"
#include "engine/accuracy/score.h"
#include "engine/result.h"

namespace trainmem {

/// What a case says about the engine: much, little, or how far it is from another simulator.
enum class Standing { certain, uncertain, predicted };

struct ScoredReading {
  MemoryCounter counter = MemoryCounter::allocated;
  Pair bytes;
};

struct MeasuredScore {
  std::string file;
  std::string id;
  std::string framework;
  std::string kind;  ///< error_kind() of its configuration
  std::string source;
  std::string notes;
  std::string uncertain_because;
  std::string not_scored;  ///< why the engine gives no answer; empty: it does
  Confidence confidence = Confidence::medium;
  MemoryCounter read = MemoryCounter::allocated;  ///< what was read first
  std::vector<ScoredReading> readings;            ///< the first one counts
  bool out_of_memory = false;                     ///< what happened
  Fit fit = Fit::unknown;                         ///< what the engine says
  std::optional<AtCapacity> at_capacity;          ///< the verdict's

  bool scored() const { return not_scored.empty(); }
  Standing standing() const {
    return confidence == Confidence::predicted   ? Standing::predicted
           : confidence == Confidence::uncertain ? Standing::uncertain
                                                 : Standing::certain;
  }
  /// The run ended out of memory and is called a fit, or it ran and is called too large.
  bool contradicts() const;
  double error() const { return readings.empty() ? 0 : readings.front().bytes.error(); }
};

MeasuredScore score(const MeasuredCase& measured);

}  // namespace trainmem
