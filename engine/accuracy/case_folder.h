// Files of cases, of either form: recorded steps (a list) and published runs (an object with "cases").
#pragma once

#include <string>
#include <vector>

#include "engine/accuracy/measured_case.h"
#include "engine/accuracy/trace_case.h"

namespace trainmem {

/// What was read, in the order of file names, and the files that are of neither form with the reason.
struct CaseFolder {
  std::vector<TraceCase> traces;
  std::vector<MeasuredFile> measured;
  std::vector<std::string> problems;

  void add(CaseFolder other);
};

/// Reads every *.json of a folder, or one file. Throws nothing.
CaseFolder read_cases(const std::string& path);

/// Recorded steps of one file. Throws std::runtime_error when it is not of that form.
std::vector<TraceCase> read_trace_file(const std::string& path);

}  // namespace trainmem
