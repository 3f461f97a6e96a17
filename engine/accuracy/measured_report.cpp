#include "engine/accuracy/measured_report.h"

#include <cstdio>

namespace trainmem {
namespace {

std::string percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%+8.2f", 100 * fraction);
  return text;
}

std::string gib(Bytes bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%9.3f", static_cast<double>(bytes) / (1 << 30));
  return text;
}

std::string line(const MeasuredScore& one) {
  std::string text;
  bool first = true;
  for (const ScoredReading& reading : one.readings) {
    char head[64];
    std::snprintf(head, sizeof head, "  %-9s ", name(reading.counter));
    text += head + gib(reading.bytes.recorded) + " " + gib(reading.bytes.predicted) + percent(reading.bytes.error()) +
            (first ? "  " + one.id : "") + (first && one.contradicts() ? "  (verdict contradicts the outcome)" : "") +
            "\n";
    first = false;
  }
  if (one.readings.empty()) {
    text += std::string(one.contradicts() ? "  WRONG   " : "  right   ") +
            (one.out_of_memory ? "ended out of memory" : "fitted") + "  " + one.id + "\n";
  }
  if (!one.uncertain_because.empty()) text += "            uncertain: " + one.uncertain_because + "\n";
  return text;
}

std::string part(const Accuracy& accuracy, const MeasuredFile& file, Standing standing) {
  std::string text;
  for (const MeasuredScore& one : accuracy.measured) {
    if (one.file != file.file || one.standing() != standing) continue;
    text += one.scored() ? line(one) : "  not scored: " + one.id + ": " + one.not_scored + "\n";
  }
  return text;
}

std::string group_line(const Group& group) {
  const Summary& e = group.errors;
  char text[200];
  std::snprintf(text, sizeof text, "%-18s %-13s %-10s %5d %5d %8.2f %8.2f %s %s\n", group.name.c_str(),
                group.framework.c_str(), group.counter.c_str(), e.cases, e.not_scored, 100 * e.median,
                100 * e.ninetieth, percent(e.worst_over).c_str(), percent(e.worst_under).c_str());
  return text;
}

std::string outcome_line(const char* of, const Outcomes& seen) {
  char text[400];
  std::snprintf(text, sizeof text,
                "%s, %d fitted and %d of them are called too large; %d ended out of memory and %d are "
                "called a fit. Of those that fitted, %d reserve more than their GPU has: replayed within it, %d would "
                "end out of memory.\n",
                of, seen.fitted, seen.fitted_called_too_large, seen.out_of_memory, seen.out_of_memory_called_fit,
                seen.beyond_capacity, seen.beyond_capacity_called_out_of_memory);
  return text;
}

constexpr const char* group_head =
    "source             framework     counter    cases  none   median     90 %     over    under\n";

}  // namespace

std::string measured_table(const Accuracy& accuracy) {
  std::string text;
  for (const MeasuredFile& file : accuracy.files) {
    text += file.file + ": " + file.source + "\n  counter    measured predicted   error  (GiB, percent)\n";
    text += part(accuracy, file, Standing::certain);
    const std::string uncertain = part(accuracy, file, Standing::uncertain);
    if (!uncertain.empty()) text += " uncertain configurations\n" + uncertain;
    const std::string predicted = part(accuracy, file, Standing::predicted);
    if (!predicted.empty()) text += " predictions of another simulator, not measurements\n" + predicted;
    for (const NotUsable& one : file.not_usable) text += "  not usable: " + one.id + ": " + one.reason + "\n";
    text += "\n";
  }
  return text;
}

std::string measured_summary(const Accuracy& accuracy) {
  if (accuracy.measured.empty()) return {};
  std::string text = std::string("Published runs, errors in percent.\n") + group_head;
  for (const Group& group : measured_groups(accuracy.measured, Standing::certain)) text += group_line(group);
  for (const Confidence confidence : {Confidence::high, Confidence::medium})
    text += group_line({name(confidence), "confidence", "all", by_confidence(accuracy.measured, confidence)});
  text += std::string("\nPublished runs of uncertain configuration, errors in percent.\n") + group_head;
  for (const Group& group : measured_groups(accuracy.measured, Standing::uncertain)) text += group_line(group);
  text += std::string("\nDifference from predictions of other simulators, in percent.\n") + group_head;
  for (const Group& group : measured_groups(accuracy.measured, Standing::predicted)) text += group_line(group);
  text += "\nBands of error in percent, by kind of run: nine in ten recorded and published readings lie between.\n";
  for (const ResidualBand& band : residual_bands(accuracy)) {
    char row[100];
    std::snprintf(row, sizeof row, "%-18s %5d %s %s\n", band.kind.c_str(), band.runs, percent(band.under).c_str(),
                  percent(band.over).c_str());
    text += row;
  }
  return text + outcome_line("\nOf runs", outcomes(accuracy.measured, Standing::certain)) +
         outcome_line("Of runs of uncertain configuration", outcomes(accuracy.measured, Standing::uncertain));
}

}  // namespace trainmem
