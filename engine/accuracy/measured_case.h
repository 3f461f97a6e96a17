// A published run: what a real GPU showed, and the configuration in trainmem's words. tests/measured/README.md
// describes the files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/config.h"
#include "engine/dtype.h"

namespace trainmem {

/// What a number was read from: PyTorch's allocated, active or reserved bytes, the whole device (nvidia-smi), or the
/// highest moment of a step, without initialisation, as simulators predict it.
enum class MemoryCounter { allocated, active, reserved, device, step };
const char* name(MemoryCounter counter);

struct Reading {
  MemoryCounter counter = MemoryCounter::allocated;
  Bytes bytes = 0;
};

/// high, medium: how sure the reading is. uncertain: something that decides the number is not in the source. predicted:
/// no reading, but what another simulator says.
enum class Confidence { high, medium, uncertain, predicted };
const char* name(Confidence confidence);

struct MeasuredCase {
  std::string file;  ///< without folder and .json
  std::string id;
  std::string source;  ///< title and address
  std::string notes;
  std::string uncertain_because;
  std::string cannot_read;  ///< why the configuration cannot be read; empty: config is meaningful
  Config config;
  std::int64_t stage = -1;        ///< pipeline stage that was read; -1: the one that needs most
  std::vector<Reading> readings;  ///< the first one is scored; none: only whether it fitted is known
  bool out_of_memory = false;
  Confidence confidence = Confidence::medium;
};

/// A reading that no configuration stands for.
struct NotUsable {
  std::string file;
  std::string id;
  std::string reason;
};

struct MeasuredFile {
  std::string file;
  std::string source;
  std::string url;
  std::string notes;
  std::vector<MeasuredCase> cases;
  std::vector<NotUsable> not_usable;
};

/// Throws std::runtime_error with the name of the case when it is not of that form.
MeasuredFile read_measured(const nlohmann::json& json, const std::string& file);

}  // namespace trainmem
