// One recorded training step: what was run, and what it allocated. tests/traces/README.md describes the files.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/config.h"
#include "engine/dtype.h"

namespace trainmem {

/// Bytes during one phase of one step: the most, and at its end.
struct RecordedPhase {
  std::string name;  ///< "init", "step 2 forward", "step 2 micro-batch 1 backward", ...
  Bytes peak = 0;
  Bytes end = 0;
  Bytes peak_with_kernel_scratch = 0;
};

/// A family of tensors alive at a phase's peak.
struct RecordedRow {
  std::string module;
  std::string operation;
  std::string shape;
  std::string dtype;
  std::string allocated_in;
  std::int64_t count = 0;
  Bytes bytes = 0;
};

struct RecordedMoment {
  std::map<std::string, Bytes> by_kind;
  std::vector<RecordedRow> rows;
};

struct RecordedReserved {
  std::vector<Bytes> pools;
  Bytes by_default = 0;
  Bytes expandable_segments = 0;
};

struct TraceCase {
  std::string file;  ///< without folder and .json
  std::string id;
  std::string family;            ///< model_type
  std::string cannot_translate;  ///< the reason; empty: config is meaningful
  Config config;
  bool keeps_last_block = false;  ///< see parallel/keeps_last_block.h
  bool dispatch_mode = true;      ///< recorded under one: see tensor/dispatch_mode.h
  int steps = 2;
  std::int64_t parameters = 0;
  std::vector<RecordedPhase> phases;
  RecordedReserved reserved;
  std::map<std::string, RecordedMoment> at_peak;  ///< by phase of the last step
};

/// A list of recorded steps. Throws std::runtime_error when it is not of that form.
std::vector<TraceCase> read_traces(const nlohmann::json& list, const std::string& file);

}  // namespace trainmem
