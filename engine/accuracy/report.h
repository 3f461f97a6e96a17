// What trainmem-accuracy prints of recorded steps.
#pragma once

#include <string>
#include <vector>

#include "engine/accuracy/score.h"

namespace trainmem {

/// One line a case: errors in percent by phase, of reserved bytes, and the case's name. `*`: beyond the threshold.
std::string case_table(const std::vector<CaseScore>& scores, double threshold);

/// By file and by family: cases, median, 90th percentile, worst over and under, of allocated and of reserved bytes.
std::string summary_table(const std::vector<CaseScore>& scores, double threshold);

/// Every case with recorded and predicted bytes, as JSON.
std::string scores_json(const std::vector<CaseScore>& scores);

}  // namespace trainmem
