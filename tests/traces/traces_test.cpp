// The engine against recorded steps: every phase's peak and end of the last step, allocated bytes.
//
// Recorded values and how they came to be: tests/traces/README.md. What is not held to the limit is printed with its
// error.
#include <cmath>
#include <cstdio>
#include <string>

#include "engine/accuracy/predict.h"
#include "engine/accuracy/score.h"
#include "engine/accuracy/trace_case.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

constexpr double limit = 0.005;
const std::string folder = TRAINMEM_SOURCE_DIR "/tests/traces/";

CaseScore score_of(const TraceCase& trace) {
  return score(trace, trace.cannot_translate.empty() ? predict(trace.config, trace.steps) : Prediction{});
}

std::string percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.3f %%", 100 * fraction);
  return text;
}

}  // namespace

TEST_CASE("recorded steps: every phase's peak and end within 0.5 % on one GPU") {
  const std::string family = GENERATE("gpt2", "llama", "mistral", "qwen2", "gemma", "gpt_neox", "opt", "phi");
  const std::vector<TraceCase> cases = read_trace_file(folder + "transformers_" + family + ".json");
  REQUIRE_FALSE(cases.empty());
  for (const TraceCase& trace : cases) {
    const CaseScore one = score_of(trace);
    CAPTURE(trace.id, one.not_scored);
    if (trace.config.recipe.optimizer != Optimizer::adamw) {
      std::printf("  %-90s %s\n", trace.id.c_str(), one.scored() ? percent(one.worst_phase()).c_str() : "not modelled");
      continue;
    }
    CHECK(one.scored());
    for (const PhaseScore& phase : one.phases) {
      CAPTURE(phase.phase, phase.peak.recorded, phase.peak.predicted, phase.end.recorded, phase.end.predicted);
      CHECK(std::abs(phase.peak.error()) <= limit);
      CHECK(std::abs(phase.peak_without_scratch.error()) <= limit);
      CHECK(std::abs(phase.end.error()) <= limit);
    }
  }
}

TEST_CASE("recorded steps: a model has exactly the recorded bytes of weights") {
  for (const TraceCase& trace : read_trace_folder(folder)) {
    if (trace.file.rfind("transformers_", 0) != 0 || !trace.cannot_translate.empty()) continue;
    const CaseScore one = score_of(trace);
    if (!one.scored()) continue;
    CAPTURE(trace.file, trace.id);
    REQUIRE(one.phases.front().phase == "init");
    CHECK(one.phases.front().end.recorded == one.phases.front().end.predicted);
  }
}

TEST_CASE("recorded steps: a file of one case is read and scored like the others") {
  const std::vector<TraceCase> cases = read_trace_file(folder + "transformers_gpt2.json");
  const TraceCase& trace = cases.front();
  CHECK(trace.steps == 2);
  CHECK(trace.phases.front().name == "init");
  CHECK(trace.phases.size() == 9);
  CHECK(trace.reserved.by_default > trace.reserved.pools.front());
  CHECK(trace.at_peak.count("step 2 backward") == 1);
}
