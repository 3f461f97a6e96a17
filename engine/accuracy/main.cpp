// trainmem-accuracy: recorded training steps against the engine.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "engine/accuracy/compare_events.h"
#include "engine/accuracy/event_stream.h"
#include "engine/accuracy/predict.h"
#include "engine/accuracy/report.h"
#include "engine/accuracy/score.h"
#include "engine/accuracy/trace_case.h"

using namespace trainmem;

namespace {

constexpr const char* usage =
    "usage: trainmem-accuracy [FOLDER|FILE ...] [options]\n"
    "Scores the engine against recorded training steps (default: tests/traces; tests/traces/README.md has the form).\n"
    "  --summary           only the tables by file and family\n"
    "  --json              every case with recorded and predicted bytes, as JSON\n"
    "  --filter TEXT       only cases whose file and id contain TEXT (may be given again: all must match)\n"
    "  --threshold X       error of a phase that counts as beyond (default 0.005)\n"
    "  --rows ID           who is alive at the peaks of the first case whose id contains ID, recorded and ours\n"
    "  --events FILE ID    our event stream of that case against a recorded one\n"
    "  --limit N           differences that --events prints (default 40)\n"
    "Exit status: 0 all within the threshold, 1 some case is beyond, 2 wrong input.\n";

struct Options {
  std::vector<std::string> paths;
  std::vector<std::string> filters;
  std::string rows;
  std::string events_file;
  std::string events_case;
  double threshold = 0.005;
  int limit = 40;
  bool summary_only = false;
  bool json = false;
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
    if (word == "--summary") {
      options.summary_only = true;
    } else if (word == "--json") {
      options.json = true;
    } else if (word == "--filter") {
      options.filters.push_back(next());
    } else if (word == "--threshold") {
      options.threshold = std::strtod(next().c_str(), nullptr);
    } else if (word == "--limit") {
      options.limit = std::atoi(next().c_str());
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
  if (options.paths.empty()) options.paths.emplace_back("tests/traces");
  return options;
}

bool matches(const TraceCase& trace, const std::vector<std::string>& filters) {
  const std::string name = trace.file + " " + trace.id;
  for (const std::string& filter : filters) {
    if (name.find(filter) == std::string::npos) return false;
  }
  return true;
}

TraceFolder read_cases(const Options& options) {
  TraceFolder all;
  for (const std::string& path : options.paths) {
    TraceFolder read = read_traces(path);
    for (TraceCase& one : read.cases) {
      if (matches(one, options.filters)) all.cases.push_back(std::move(one));
    }
    all.problems.insert(all.problems.end(), read.problems.begin(), read.problems.end());
  }
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
  Prediction prediction = predict(trace.config, trace.steps);
  if (!prediction.refused.empty()) fail(trace.id + ": " + prediction.refused);
  return prediction;
}

int run(const Options& options) {
  const TraceFolder read = read_cases(options);
  const std::vector<TraceCase>& cases = read.cases;
  for (const std::string& problem : read.problems) std::fprintf(stderr, "not read: %s\n", problem.c_str());
  if (!options.events_file.empty()) {
    const TraceCase& trace = find_case(cases, options.events_case);
    const EventStream stream = read_event_stream(options.events_file);
    std::printf("%s\n%s\n", trace.id.c_str(),
                compare_events(stream.recording, predict_or_fail(trace).recording, options.limit).report.c_str());
    return 0;
  }
  if (!options.rows.empty()) {
    const TraceCase& trace = find_case(cases, options.rows);
    std::printf("%s\n%s", trace.id.c_str(), rows_report(trace, predict_or_fail(trace)).c_str());
    return 0;
  }
  std::vector<CaseScore> scores;
  bool beyond = false;
  for (const TraceCase& trace : cases) {
    scores.push_back(score(trace, trace.cannot_translate.empty() ? predict(trace.config, trace.steps) : Prediction{}));
    beyond = beyond || std::abs(scores.back().worst_phase()) > options.threshold;
  }
  if (options.json) {
    std::fputs(scores_json(scores).c_str(), stdout);
  } else {
    if (!options.summary_only) std::printf("%s\n", case_table(scores, options.threshold).c_str());
    std::fputs(summary_table(scores, options.threshold).c_str(), stdout);
  }
  if (cases.empty()) return 2;
  return beyond ? 1 : 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(read_options(count, words));
  } catch (const std::exception& error) {
    fail(error.what());
  }
}
