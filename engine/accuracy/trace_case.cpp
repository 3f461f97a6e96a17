// Reads lists of recorded steps, as tests/traces/README.md describes them.
#include "engine/accuracy/trace_case.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/accuracy/translate.h"

namespace trainmem {
namespace {

using nlohmann::json;

RecordedMoment read_moment(const json& object) {
  RecordedMoment moment;
  moment.by_kind = object.at("by_kind").get<std::map<std::string, Bytes>>();
  for (const json& row : object.at("rows")) {
    moment.rows.push_back({row.at(1).get<std::string>(), row.at(2).get<std::string>(), row.at(3).get<std::string>(),
                           row.at(4).get<std::string>(), row.at(5).get<std::string>(), row.at(6).get<std::int64_t>(),
                           row.at(7).get<Bytes>()});
  }
  return moment;
}

TraceCase read_case(const json& object, const std::string& file) {
  TraceCase result;
  result.file = file;
  result.id = object.at("id").get<std::string>();
  result.family = object.at("model").at("model_type").get<std::string>();
  result.steps = object.at("config").value("steps", 2);
  result.parameters = object.value("parameters", std::int64_t{0});
  result.dispatch_mode = object.value("dispatch_mode", true);
  for (const json& phase : object.at("phases")) {
    RecordedPhase recorded;
    recorded.name = phase.at("phase").get<std::string>();
    recorded.peak = phase.at("peak_bytes").get<Bytes>();
    recorded.end = phase.at("end_bytes").get<Bytes>();
    recorded.peak_with_kernel_scratch = phase.value("peak_bytes_with_kernel_scratch", recorded.peak);
    result.phases.push_back(recorded);
  }
  if (const auto reserved = object.find("reserved"); reserved != object.end()) {
    result.reserved.pools = reserved->at("pools_peak_bytes").get<std::vector<Bytes>>();
    result.reserved.by_default = reserved->at("default_bytes").get<Bytes>();
    result.reserved.expandable_segments = reserved->at("expandable_segments_bytes").get<Bytes>();
  }
  if (const auto moments = object.find("at_peak"); moments != object.end()) {
    for (const auto& [phase, moment] : moments->items()) result.at_peak[phase] = read_moment(moment);
  }
  try {
    result.cannot_translate = translate_case(object, result.config, result.keeps_last_block);
  } catch (const json::exception& error) {
    result.cannot_translate = error.what();
  }
  return result;
}

}  // namespace

std::vector<TraceCase> read_traces(const json& list, const std::string& file) {
  if (!list.is_array()) throw std::runtime_error("is not a list of cases");
  std::vector<TraceCase> cases;
  try {
    for (const json& object : list) cases.push_back(read_case(object, file));
  } catch (const json::exception& error) {
    throw std::runtime_error("case " + std::to_string(cases.size() + 1) + ": " + error.what());
  }
  return cases;
}

}  // namespace trainmem
