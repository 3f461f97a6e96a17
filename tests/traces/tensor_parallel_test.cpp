// Tensor parallelism against recorded steps: allocated bytes exactly, whole and folded.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "engine/accuracy/case_folder.h"
#include "engine/accuracy/predict.h"
#include "engine/accuracy/score.h"
#include "engine/accuracy/trace_case.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"
#include "tests/source_folder.h"

using namespace trainmem;

namespace {

const std::string folder = source_folder() + "/tests/traces/";

}  // namespace

TEST_CASE("recorded steps: under tensor parallelism peak and end of every phase are right to the byte") {
  // Under the plan a few numbers on the device belong to no layer; the fused optimizer sums the gradients of norms
  // first.
  const auto [file, count, apart] =
      GENERATE(table<const char*, std::size_t, Bytes>({{"tensor_parallel.json", 25, 0},
                                                       {"tensor_parallel_optimizers.json", 4, 7 * 4096},
                                                       {"tensor_parallel_plan.json", 16, 32}}));
  const std::vector<TraceCase> cases = read_trace_file(folder + file);
  REQUIRE(cases.size() == count);
  for (const TraceCase& trace : cases) {
    CAPTURE(trace.id, trace.cannot_translate);
    const Prediction prediction = predict(trace);
    REQUIRE(prediction.refused.empty());
    const CaseScore one = score(trace, prediction);
    Bytes peak = 0;
    for (const PhaseScore& phase : one.phases) {
      CAPTURE(phase.phase);
      CHECK(std::abs(phase.peak.predicted - phase.peak.recorded) <= apart);
      CHECK(std::abs(phase.end.predicted - phase.end.recorded) <= apart);
      peak = std::max(peak, phase.peak.predicted);
    }
    CHECK(highest_peak(trace.config, {.steps = trace.steps, .fold = true}) == peak);
  }
}
