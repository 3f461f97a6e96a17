#include "engine/accuracy/accuracy_text.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "engine/accuracy/report.h"

namespace trainmem {
namespace {

using json = nlohmann::ordered_json;

std::string percent(double fraction, int digits) {
  const double value = 100 * fraction;
  if (value == 0) return "0";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %%", digits, value);
  const std::string result = text;
  if (result.find_first_of("123456789") != std::string::npos) return result;
  // What rounds to nothing is not nothing.
  return digits < 2 ? percent(fraction, 2) : value < 0 ? "> -0.01 %" : "< 0.01 %";
}

std::string row(const Group& group, int digits) {
  const Summary& e = group.errors;
  return "| " + group.name + " | " + group.framework + " | " + group.counter + " | " + std::to_string(e.cases) + " | " +
         percent(e.median, digits) + " | " + percent(e.ninetieth, digits) + " | " + percent(e.worst_over, digits) +
         " | " + percent(e.worst_under, digits) + " |\n";
}

std::string table(const std::string& first, const std::vector<Group>& groups, int digits) {
  std::string text = "| " + first +
                     " | framework | counter | cases | median error | 90 % within | furthest over | furthest under |\n"
                     "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n";
  for (const Group& group : groups) {
    if (group.errors.cases > 0) text += row(group, digits);
  }
  return text;
}

json group_json(const Group& group) {
  const Summary& e = group.errors;
  return {{"name", group.name},       {"framework", group.framework},  {"counter", group.counter},
          {"cases", e.cases},         {"not_scored", e.not_scored},    {"median", e.median},
          {"ninetieth", e.ninetieth}, {"furthest_over", e.worst_over}, {"furthest_under", e.worst_under}};
}

json groups_json(const std::vector<Group>& groups) {
  json list = json::array();
  for (const Group& group : groups) list.push_back(group_json(group));
  return list;
}

json outcomes_json(const Outcomes& seen) {
  return {{"fitted", seen.fitted},
          {"fitted_called_too_large", seen.fitted_called_too_large},
          {"out_of_memory", seen.out_of_memory},
          {"out_of_memory_called_fit", seen.out_of_memory_called_fit},
          {"beyond_capacity", seen.beyond_capacity},
          {"beyond_capacity_called_out_of_memory", seen.beyond_capacity_called_out_of_memory}};
}

json case_json(const MeasuredScore& one) {
  json entry{{"file", one.file},
             {"id", one.id},
             {"source", one.source},
             {"framework", one.framework},
             {"confidence", name(one.confidence)},
             {"outcome", one.out_of_memory ? "out_of_memory" : "fits"}};
  if (!one.uncertain_because.empty()) entry["uncertain_because"] = one.uncertain_because;
  if (!one.notes.empty()) entry["notes"] = one.notes;
  if (!one.scored()) {
    entry["not_scored"] = one.not_scored;
    return entry;
  }
  entry["verdict"] = name(one.fit);
  entry["contradicts"] = one.contradicts();
  entry["readings"] = json::array();
  for (const ScoredReading& reading : one.readings) {
    entry["readings"].push_back({{"counter", name(reading.counter)},
                                 {"measured", reading.bytes.recorded},
                                 {"predicted", reading.bytes.predicted},
                                 {"error", reading.bytes.error()}});
  }
  return entry;
}

}  // namespace

std::string readme_tables(const Accuracy& accuracy) {
  const Outcomes seen = outcomes(accuracy.measured, Standing::certain);
  return table("recorded steps", trace_groups(accuracy.traces), 2) + "\n" +
         table("published runs", measured_groups(accuracy.measured, Standing::certain), 1) + "\nOf " +
         std::to_string(seen.fitted) + " published runs that fitted, " + std::to_string(seen.fitted_called_too_large) +
         " are called too large. " + std::to_string(seen.beyond_capacity) +
         " of them reserve more than their GPU has; replayed within it, as the allocator frees what it cached, " +
         std::to_string(seen.beyond_capacity - seen.beyond_capacity_called_out_of_memory) + " run and " +
         std::to_string(seen.beyond_capacity_called_out_of_memory) + " would not.\n\n" +
         table("predictions of others", measured_groups(accuracy.measured, Standing::predicted), 1);
}

std::string accuracy_json(const Accuracy& accuracy) {
  json files = json::array();
  for (const MeasuredFile& file : accuracy.files) {
    json entry{{"file", file.file}, {"source", file.source}, {"url", file.url}, {"notes", file.notes}};
    entry["not_usable"] = json::array();
    for (const NotUsable& one : file.not_usable)
      entry["not_usable"].push_back({{"id", one.id}, {"reason", one.reason}});
    files.push_back(std::move(entry));
  }
  json cases = json::array();
  for (const MeasuredScore& one : accuracy.measured) cases.push_back(case_json(one));
  json bands = json::array();
  for (const ResidualBand& band : residual_bands(accuracy))
    bands.push_back({{"kind", band.kind}, {"readings", band.runs}, {"under", band.under}, {"over", band.over}});
  const json all{
      {"recorded_steps",
       {{"groups", groups_json(trace_groups(accuracy.traces))}, {"cases", json::parse(scores_json(accuracy.traces))}}},
      {"published_runs",
       {{"groups", groups_json(measured_groups(accuracy.measured, Standing::certain))},
        {"predicted_groups", groups_json(measured_groups(accuracy.measured, Standing::predicted))},
        {"uncertain_groups", groups_json(measured_groups(accuracy.measured, Standing::uncertain))},
        {"confidence", groups_json({{"high", "", "", by_confidence(accuracy.measured, Confidence::high)},
                                    {"medium", "", "", by_confidence(accuracy.measured, Confidence::medium)}})},
        {"outcomes", outcomes_json(outcomes(accuracy.measured, Standing::certain))},
        {"uncertain_outcomes", outcomes_json(outcomes(accuracy.measured, Standing::uncertain))},
        {"files", std::move(files)},
        {"cases", std::move(cases)}}},
      {"reserved_bands", std::move(bands)}};
  return all.dump(1) + "\n";
}

}  // namespace trainmem
