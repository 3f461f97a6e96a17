// A prediction against a recorded case, and many of them against their files.
#pragma once

#include <string>
#include <vector>

#include "engine/accuracy/predict.h"
#include "engine/accuracy/trace_case.h"

namespace trainmem {

/// Recorded and predicted bytes of one thing.
struct Pair {
  Bytes recorded = 0;
  Bytes predicted = 0;
  double error() const;  ///< predicted over recorded less one
};

struct PhaseScore {
  std::string phase;
  Pair peak;                  ///< kernel scratch included
  Pair peak_without_scratch;  ///< what the recording saw by itself
  Pair end;
};

struct CaseScore {
  std::string file;
  std::string id;
  std::string family;
  std::string kind;                ///< error_kind() of its configuration
  std::string not_scored;          ///< why there is no score
  std::vector<PhaseScore> phases;  ///< of the last step, and the end of "init" where nothing is sharded
  Pair step_peak;                  ///< the last step's
  Pair reserved;
  Pair reserved_expandable;

  bool scored() const { return not_scored.empty(); }
  double worst_phase() const;     ///< the phase error that is furthest from zero, with its sign
  double worst_reserved() const;  ///< the same over both kinds of segments; 0 if nothing was recorded
};

CaseScore score(const TraceCase& trace, const Prediction& prediction);

/// Errors of a group of cases.
struct Summary {
  int cases = 0;
  int not_scored = 0;
  int beyond = 0;  ///< cases whose worst error is beyond the threshold
  double median = 0;
  double ninetieth = 0;
  double worst_over = 0;
  double worst_under = 0;
};

/// Of these errors: median and 90th percentile of their size, the furthest on either side.
Summary summarise(const std::vector<double>& errors, double threshold = 0);

/// Of the worst phase of each case, or of reserved bytes.
Summary summarise(const std::vector<const CaseScore*>& cases, double (CaseScore::*error)() const, double threshold);

}  // namespace trainmem
