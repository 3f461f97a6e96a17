#include "engine/accuracy/report.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

namespace trainmem {
namespace {

std::string percent(double fraction) {
  char text[32];
  const double value = 100 * fraction;
  if (value == 0) return "      0";
  std::snprintf(text, sizeof text, std::abs(value) < 100 ? "%+7.3f" : "%+7.0f", value);
  return text;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// The error furthest from zero among the phases of one kind: micro-batches have several.
double worst(const CaseScore& one, const char* kind, bool of_peak) {
  double result = 0;
  for (const PhaseScore& phase : one.phases) {
    if (!ends_with(phase.phase, kind)) continue;
    for (const Pair* pair : {&phase.peak, &phase.peak_without_scratch, &phase.end}) {
      if ((pair == &phase.end) == of_peak) continue;
      if (std::abs(pair->error()) > std::abs(result)) result = pair->error();
    }
  }
  return result;
}

// Reserved bytes stand only where they were recorded.
std::string reserved_columns(const CaseScore& one) {
  if (one.reserved.recorded == 0) return "      -       -";
  return percent(one.reserved.error()) + " " + percent(one.reserved_expandable.error());
}

std::string summary_line(const std::string& name, const Summary& summary) {
  char text[200];
  std::snprintf(text, sizeof text, "%-28s %5d %5d %6d %s %s %s %s\n", name.c_str(), summary.cases, summary.not_scored,
                summary.beyond, percent(summary.median).c_str(), percent(summary.ninetieth).c_str(),
                percent(summary.worst_over).c_str(), percent(summary.worst_under).c_str());
  return text;
}

using Groups = std::map<std::string, std::vector<const CaseScore*>>;

std::string summary_block(const std::string& title, const Groups& groups, const std::vector<const CaseScore*>& all,
                          double (CaseScore::*error)() const, double threshold) {
  char head[200];
  std::snprintf(head, sizeof head, "%-28s %5s %5s %6s %7s %7s %7s %7s\n", title.c_str(), "cases", "none", "beyond",
                "median", "90 %", "over", "under");
  std::string text = head;
  for (const auto& [name, cases] : groups) text += summary_line(name, summarise(cases, error, threshold));
  return text + summary_line("all", summarise(all, error, threshold)) + "\n";
}

}  // namespace

std::string case_table(const std::vector<CaseScore>& scores, double threshold) {
  const std::string head =
      "    init  forward         backward        optimizer         zero   reserved\n"
      "     end     peak    end     peak    end     peak    end     end  default expand.  case, errors in percent\n";
  std::string text;
  std::string file;
  for (const CaseScore& one : scores) {
    if (one.file != file) {
      file = one.file;
      text += (text.empty() ? "" : "\n") + file + "\n" + head;
    }
    if (!one.scored()) {
      text += "  not scored: " + one.id + ": " + one.not_scored + "\n";
      continue;
    }
    const bool beyond = std::abs(one.worst_phase()) > threshold;
    text += beyond ? "*" : " ";
    text += percent(worst(one, "init", false)) + "  ";
    for (const char* kind : {"forward", "backward", "optimizer"}) {
      text += percent(worst(one, kind, true)) + percent(worst(one, kind, false)) + "  ";
    }
    text += percent(worst(one, "zero_grad", false)) + "  ";
    text += reserved_columns(one) + "  " + one.id + "\n";
  }
  return text;
}

std::string summary_table(const std::vector<CaseScore>& scores, double threshold) {
  Groups files;
  Groups families;
  Groups reserved_files;
  std::vector<const CaseScore*> all;
  std::vector<const CaseScore*> with_reserved;
  for (const CaseScore& one : scores) {
    files[one.file].push_back(&one);
    families[one.family].push_back(&one);
    all.push_back(&one);
    if (one.scored() && one.reserved.recorded == 0) continue;
    reserved_files[one.file].push_back(&one);
    with_reserved.push_back(&one);
  }
  constexpr double reserved_threshold = 0.03;
  return "Allocated bytes: each case's worst error over the phases of its last step, peak and end, in percent.\n" +
         summary_block("file", files, all, &CaseScore::worst_phase, threshold) +
         summary_block("family", families, all, &CaseScore::worst_phase, threshold) +
         "Reserved bytes, the worse of default and expandable segments (beyond: 3 %).\n" +
         summary_block("file", reserved_files, with_reserved, &CaseScore::worst_reserved, reserved_threshold);
}

std::string scores_json(const std::vector<CaseScore>& scores) {
  const auto pair = [](const Pair& value) {
    return nlohmann::ordered_json{
        {"recorded", value.recorded}, {"predicted", value.predicted}, {"error", value.error()}};
  };
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CaseScore& one : scores) {
    nlohmann::ordered_json entry{{"file", one.file}, {"id", one.id}, {"family", one.family}};
    if (!one.scored()) {
      entry["not_scored"] = one.not_scored;
    } else {
      for (const PhaseScore& phase : one.phases) {
        entry["phases"].push_back({{"phase", phase.phase},
                                   {"peak", pair(phase.peak)},
                                   {"peak_without_kernel_scratch", pair(phase.peak_without_scratch)},
                                   {"end", pair(phase.end)}});
      }
      entry["step_peak"] = pair(one.step_peak);
      entry["worst_phase_error"] = one.worst_phase();
      if (one.reserved.recorded != 0) {
        entry["reserved"] = {{"default", pair(one.reserved)}, {"expandable_segments", pair(one.reserved_expandable)}};
      }
    }
    list.push_back(std::move(entry));
  }
  return list.dump(1) + "\n";
}

}  // namespace trainmem
