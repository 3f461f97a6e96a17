// Recorded rows beside ours at a phase's peak. Rows meet by the size and format of one tensor: names differ
// between a recording and the engine, sizes do not.
#pragma once

#include <string>

#include "engine/accuracy/predict.h"
#include "engine/accuracy/trace_case.h"

namespace trainmem {

/// Who is alive at each phase's peak of the last step: recorded rows beside ours, by size.
std::string rows_report(const TraceCase& trace, const Prediction& prediction);

}  // namespace trainmem
