// What trainmem-accuracy prints of published runs.
#pragma once

#include <string>

#include "engine/accuracy/accuracy.h"

namespace trainmem {

/// Every published run with its errors, the uncertain ones apart; then what could not be used, with the reason.
std::string measured_table(const Accuracy& accuracy);

/// By source, framework and counter: cases, median, 90th percentile, worst over and under; verdicts against outcomes.
std::string measured_summary(const Accuracy& accuracy);

}  // namespace trainmem
