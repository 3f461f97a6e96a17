// What trainmem-accuracy prints.
#pragma once

#include <string>
#include <vector>

#include "engine/accuracy/predict.h"
#include "engine/accuracy/score.h"

namespace trainmem {

/// One line a case: errors in percent by phase, of reserved bytes, and the case's name. `*`: beyond the threshold.
std::string case_table(const std::vector<CaseScore>& scores, double threshold);

/// By file and by family: cases, median, 90th percentile, worst over and under, of allocated and of reserved bytes.
std::string summary_table(const std::vector<CaseScore>& scores, double threshold);

/// Every case with recorded and predicted bytes, as JSON.
std::string scores_json(const std::vector<CaseScore>& scores);

/// Who is alive at each phase's peak of the last step: recorded rows beside ours, by size.
std::string rows_report(const TraceCase& trace, const Prediction& prediction);

}  // namespace trainmem
