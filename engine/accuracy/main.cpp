// trainmem-accuracy: the engine against recorded training steps and published runs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "engine/accuracy/accuracy.h"
#include "engine/accuracy/accuracy_text.h"
#include "engine/accuracy/case_folder.h"
#include "engine/accuracy/compare_events.h"
#include "engine/accuracy/event_stream.h"
#include "engine/accuracy/measured_report.h"
#include "engine/accuracy/predict.h"
#include "engine/accuracy/report.h"
#include "engine/accuracy/rows_report.h"
#include "engine/accuracy/score.h"
#include "engine/accuracy/trace_case.h"
#include "engine/config/text.h"

using namespace trainmem;

namespace {

constexpr const char* usage =
    "usage: trainmem-accuracy [FOLDER|FILE ...] [options]\n"
    "Scores the engine against recorded training steps (tests/traces/README.md has the form) and published runs\n"
    "(tests/measured/README.md). Default: tests/traces and tests/measured.\n"
    "  --summary           only the tables of groups\n"
    "  --json              every case with recorded and predicted bytes, and all groups, as JSON\n"
    "  --readme            the tables of README.md\n"
    "  --filter TEXT       only cases whose file and id contain TEXT (may be given again: all must match)\n"
    "  --threshold X       error of a phase that counts as beyond (default 0.005)\n"
    "  --rows ID           who is alive at the peaks of the first case whose id contains ID, recorded and ours\n"
    "  --events FILE ID    our event stream of that case against a recorded one\n"
    "  --limit N           differences that --events prints (default 40)\n"
    "Exit status: 0 all recorded steps within the threshold, 1 some step is beyond, 2 wrong input.\n";

enum class Output { cases, summary, readme, json };

struct Options {
  std::vector<std::string> paths;
  std::vector<std::string> filters;
  std::string rows;
  std::string events_file;
  std::string events_case;
  double threshold = 0.005;
  int limit = 40;
  Output output = Output::cases;
};

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "trainmem-accuracy: %s\n", message.c_str());
  std::exit(2);
}

Options read_options(int count, char** words) {
  Options options;
  for (int index = 1; index < count; ++index) {
    const std::string word = words[index];
    const auto next = [&]() -> std::string {
      if (++index >= count) fail(word + " needs a value\n" + usage);
      return words[index];
    };
    const auto number = [&](bool whole) {
      const std::string text = next();
      if (!is_number_text(text, whole)) fail(word + " " + text + " is not a " + (whole ? "whole number" : "number"));
      return std::strtod(text.c_str(), nullptr);
    };
    if (word == "--summary") {
      options.output = Output::summary;
    } else if (word == "--json") {
      options.output = Output::json;
    } else if (word == "--readme") {
      options.output = Output::readme;
    } else if (word == "--filter") {
      options.filters.push_back(next());
    } else if (word == "--threshold") {
      options.threshold = number(false);
    } else if (word == "--limit") {
      options.limit = static_cast<int>(number(true));
    } else if (word == "--rows") {
      options.rows = next();
    } else if (word == "--events") {
      options.events_file = next();
      options.events_case = next();
    } else if (word == "--help" || word == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    } else if (word.rfind("--", 0) == 0) {
      fail("unknown option " + word + "\n" + usage);
    } else {
      options.paths.push_back(word);
    }
  }
  if (options.paths.empty()) options.paths = {"tests/traces", "tests/measured"};
  return options;
}

bool matches(const std::string& file, const std::string& id, const std::vector<std::string>& filters) {
  const std::string name = file + " " + id;
  return std::all_of(filters.begin(), filters.end(),
                     [&](const std::string& filter) { return name.find(filter) != std::string::npos; });
}

template <typename Case>
void keep_matching(std::vector<Case>& cases, const std::vector<std::string>& filters) {
  cases.erase(
      std::remove_if(cases.begin(), cases.end(), [&](const Case& one) { return !matches(one.file, one.id, filters); }),
      cases.end());
}

CaseFolder read_all(const Options& options) {
  CaseFolder all;
  for (const std::string& path : options.paths) all.add(read_cases(path));
  keep_matching(all.traces, options.filters);
  for (MeasuredFile& file : all.measured) {
    keep_matching(file.cases, options.filters);
    keep_matching(file.not_usable, options.filters);
  }
  all.measured.erase(
      std::remove_if(all.measured.begin(), all.measured.end(),
                     [](const MeasuredFile& file) { return file.cases.empty() && file.not_usable.empty(); }),
      all.measured.end());
  return all;
}

const TraceCase& find_case(const std::vector<TraceCase>& cases, const std::string& id) {
  for (const TraceCase& one : cases) {
    if (one.id == id) return one;
  }
  for (const TraceCase& one : cases) {
    if (one.id.find(id) != std::string::npos) return one;
  }
  fail("no case has '" + id + "' in its id");
}

Prediction predict_or_fail(const TraceCase& trace) {
  if (!trace.cannot_translate.empty()) fail(trace.id + ": " + trace.cannot_translate);
  Prediction prediction = predict(trace);
  if (!prediction.refused.empty()) fail(trace.id + ": " + prediction.refused);
  return prediction;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_accuracy(const Accuracy& accuracy, const Options& options) {
  if (options.output == Output::json) return print(accuracy_json(accuracy));
  if (options.output == Output::readme) return print(readme_tables(accuracy));
  if (options.output == Output::cases)
    print(case_table(accuracy.traces, options.threshold) + "\n" + measured_table(accuracy));
  if (!accuracy.traces.empty()) print(summary_table(accuracy.traces, options.threshold));
  print(measured_summary(accuracy));
}

int run(const Options& options) {
  const CaseFolder read = read_all(options);
  for (const std::string& problem : read.problems) std::fprintf(stderr, "not read: %s\n", problem.c_str());
  if (!options.events_file.empty()) {
    const TraceCase& trace = find_case(read.traces, options.events_case);
    const EventStream stream = read_event_stream(options.events_file);
    print(trace.id + "\n" + compare_events(stream.recording, predict_or_fail(trace).recording, options.limit).report +
          "\n");
    return 0;
  }
  if (!options.rows.empty()) {
    const TraceCase& trace = find_case(read.traces, options.rows);
    print(trace.id + "\n" + rows_report(trace, predict_or_fail(trace)));
    return 0;
  }
  const Accuracy accuracy = measure(read);
  print_accuracy(accuracy, options);
  if (read.traces.empty() && read.measured.empty()) return 2;
  return std::any_of(accuracy.traces.begin(), accuracy.traces.end(),
                     [&](const CaseScore& one) { return std::abs(one.worst_phase()) > options.threshold; })
             ? 1
             : 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(read_options(count, words));
  } catch (const std::exception& error) {
    fail(error.what());
  }
}
