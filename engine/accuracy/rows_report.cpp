#include "engine/accuracy/rows_report.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "engine/accuracy/storage_text.h"
#include "engine/tape/rows.h"

namespace trainmem {
namespace {

struct Side {
  std::int64_t count = 0;
  Bytes bytes = 0;
  std::map<std::string, std::int64_t> names;
};
struct Match {
  Side recorded;
  Side ours;
};
using SizeAndFormat = std::pair<Bytes, std::string>;

bool is_state(Component component) {
  return component == Component::weights || component == Component::master_weights ||
         component == Component::gradients || component == Component::optimizer_states;
}

std::string format_name(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float32";
    case DType::bfloat16: return "bfloat16";
    case DType::float16: return "float16";
    case DType::boolean: return "bool";
    default: return "";  // the recorder's names of integers differ
  }
}

std::string number(Bytes bytes, int width) {
  char text[40];
  std::snprintf(text, sizeof text, "%*lld", width, static_cast<long long>(bytes));
  return text;
}

std::string side_text(const char* title, const Side& side) {
  std::string text;
  for (const auto& [name, count] : side.names)
    text += std::string("      ") + title + number(count, 5) + "  " + name + "\n";
  return text;
}

std::string kinds_text(const RecordedMoment& moment, const std::map<std::string, Bytes>& ours) {
  std::string text = "  recorded:";
  for (const auto& [kind, bytes] : moment.by_kind) text += " " + kind + " " + std::to_string(bytes) + ";";
  text += "\n  ours:";
  for (const auto& [kind, bytes] : ours) text += " " + kind + " " + std::to_string(bytes) + ";";
  return text + "\n";
}

}  // namespace

std::string rows_report(const TraceCase& trace, const Prediction& prediction) {
  const Recording& recording = prediction.recording;
  std::string text;
  for (const PredictedPhase& phase : prediction.phases) {
    const auto recorded = trace.at_peak.find(phase.name);
    if (recorded == trace.at_peak.end()) continue;
    const auto total = std::find_if(trace.phases.begin(), trace.phases.end(),
                                    [&](const RecordedPhase& one) { return one.name == phase.name; });
    std::map<SizeAndFormat, Match> matches;
    for (const RecordedRow& row : recorded->second.rows) {
      if (row.count == 0 || row.bytes == 0) continue;
      const bool named =
          row.dtype == "float32" || row.dtype == "bfloat16" || row.dtype == "float16" || row.dtype == "bool";
      Side& side = matches[{row.bytes / row.count, named ? row.dtype : ""}].recorded;
      side.count += row.count;
      side.bytes += row.bytes;
      side.names[row.module + " " + row.operation + " " + row.shape + " " + row.dtype + " (" + row.allocated_in +
                 ")"] += row.count;
    }
    std::map<std::string, Bytes> kinds;
    const std::vector<bool> alive = alive_after(recording, phase.peak_event + 1);
    for (std::size_t index = 0; index < recording.storages.size(); ++index) {
      const StorageRecord& storage = recording.storages[index];
      if (!alive[index] || storage.bytes == 0 || storage.in_kernel) continue;
      kinds[name(storage.component)] += storage.bytes;
      if (is_state(storage.component)) continue;
      Side& side = matches[{storage.bytes, format_name(storage.dtype)}].ours;
      ++side.count;
      side.bytes += storage.bytes;
      ++side.names[storage_text(recording, storage) + (storage.kept_by != nullptr ? " kept" : "")];
    }
    text += "\n" + phase.name + ": peak recorded " + std::to_string(total == trace.phases.end() ? 0 : total->peak) +
            ", ours " + std::to_string(phase.peak_without_scratch) + "\n" + kinds_text(recorded->second, kinds);
    std::vector<std::pair<SizeAndFormat, Match>> ordered(matches.begin(), matches.end());
    std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
      return std::max(a.second.recorded.bytes, a.second.ours.bytes) >
             std::max(b.second.recorded.bytes, b.second.ours.bytes);
    });
    for (const auto& [key, match] : ordered) {
      text += std::string(match.recorded.count == match.ours.count ? "    " : "  * ") + number(key.first, 12) +
              " bytes " + key.second + ": recorded " + std::to_string(match.recorded.count) + ", ours " +
              std::to_string(match.ours.count) + "\n";
      text += side_text("recorded", match.recorded) + side_text("ours    ", match.ours);
    }
  }
  return text;
}

}  // namespace trainmem
