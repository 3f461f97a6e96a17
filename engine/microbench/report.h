// What the benchmark prints: a table for people, lines for spreadsheets, JSON for presets and the calculator.
#pragma once

#include <string>
#include <vector>

#include "engine/bandwidth/measurement.h"
#include "engine/microbench/device.h"
#include "engine/microbench/gpu.h"
#include "engine/microbench/statistics.h"

namespace trainmem::microbench {

struct Row {
  Job job;
  Spread gb_per_s;
  std::string problem;  ///< empty: measured and verified
};

struct Report {
  DeviceFacts device;
  std::vector<Row> rows;
};

std::string table(const Report& report);

/// The header once, then a line for each row of each report.
std::string csv(const std::vector<Report>& reports);

/// The report as the block "measured". `date`: 2026-11-21. Smaller sizes of a sweep are left out: they show caches.
Measurement measurement(const Report& report, const std::string& date);

/// One block, or a list of blocks for several devices.
std::string json(const std::vector<Report>& reports, const std::string& date);

}  // namespace trainmem::microbench
