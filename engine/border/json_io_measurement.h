// Measured bandwidth as JSON: the block "measured" of a GPU preset.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/bandwidth/measurement.h"
#include "engine/issue.h"

namespace trainmem {

/// Members that are empty or zero are left out.
std::string write_measurement(const Measurement& measurement);

struct ReadMeasurements {
  std::vector<Measurement> measurements;  ///< of each device, if there are no issues; `kernels` is not read back
  Issues issues;
};

/// One block, a list of blocks (of several devices), or an object whose only member is "measured".
ReadMeasurements read_measurements(std::string_view json);

}  // namespace trainmem
