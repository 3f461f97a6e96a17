// Everything that trainmem-accuracy found out: every case's score, and the errors of groups of them.
#pragma once

#include <string>
#include <vector>

#include "engine/accuracy/case_folder.h"
#include "engine/accuracy/measured_score.h"
#include "engine/accuracy/score.h"

namespace trainmem {

struct Accuracy {
  std::vector<CaseScore> traces;
  std::vector<MeasuredFile> files;  ///< of published runs, without their cases
  std::vector<MeasuredScore> measured;
};

/// Predicts and scores every case.
Accuracy measure(const CaseFolder& folder);

/// One line of a table: the errors of a group's cases.
struct Group {
  std::string name;       ///< of recorded steps the kind, of published runs the file
  std::string framework;  ///< whose step was run
  std::string counter;    ///< what was read
  Summary errors;
};

/// Recorded steps by kind: allocated bytes (a case's worst phase), then reserved bytes.
std::vector<Group> trace_groups(const std::vector<CaseScore>& scores);

/// Cases of one standing by source, framework and counter.
std::vector<Group> measured_groups(const std::vector<MeasuredScore>& scores, Standing standing);

/// Certain runs of one confidence, first readings of whatever counter.
Summary by_confidence(const std::vector<MeasuredScore>& scores, Confidence confidence);

/// Errors of one kind of run: recorded reserved bytes, published reserved bytes and published allocated bytes. The band
/// holds nine in ten of each (all, of fewer than twenty), and of a kind that has no published run nine in ten of the
/// published errors of all kinds.
struct ResidualBand {
  std::string kind;
  int runs = 0;
  double under = 0;
  double over = 0;
};

std::vector<ResidualBand> residual_bands(const Accuracy& accuracy);

/// Published runs whose outcome is known: how often the verdict is right.
struct Outcomes {
  int fitted = 0;
  int fitted_called_too_large = 0;
  int out_of_memory = 0;
  int out_of_memory_called_fit = 0;
  int beyond_capacity = 0;  ///< of those that fitted, computed to do so only where the allocator frees what it cached
  int beyond_capacity_called_out_of_memory = 0;
};

Outcomes outcomes(const std::vector<MeasuredScore>& scores, Standing standing);

}  // namespace trainmem
