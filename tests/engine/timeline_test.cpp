// The timeline of an answer: however long the step, so many points as can be drawn, among them each phase's peak.
#include <algorithm>

#include "engine/config/values.h"
#include "engine/estimate.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

/// A pipeline stage of four chunks that many micro-batches pass: thousands of places.
Config long_step() {
  Config config;
  config.gpu.architecture = GpuArchitecture::hopper;
  config.model = small_gpt(64);
  config.recipe = default_recipe(Framework::megatron);
  config.recipe.sequence_length = 1024;
  config.recipe.pipeline_parallel = 4;
  config.recipe.pipeline_schedule = PipelineSchedule::interleaved;
  config.recipe.virtual_pipeline_stages = 4;
  config.recipe.gradient_accumulation_steps = 64;
  return config;
}

}  // namespace

TEST_CASE("The timeline of a long step has as many points as a drawing needs, and the peak of every phase") {
  const Config config = long_step();
  for (const Issue& issue : validate(config)) UNSCOPED_INFO(issue.path << " " << issue.message);
  REQUIRE(validate(config).empty());
  const Result result = estimate(config);
  CHECK(result.timeline.size() > 200);
  CHECK(result.timeline.size() < 1000);
  Bytes highest = 0;
  for (const TimelinePoint& point : result.timeline) highest = std::max(highest, point.allocated);
  CHECK(highest == result.allocated);
  // A phase in which nothing happens has no point, unless it is the last one.
  for (const PhasePeak& phase : result.phases) {
    Bytes of_phase = 0;
    for (const TimelinePoint& point : result.timeline)
      if (point.phase == phase.phase) of_phase = std::max(of_phase, point.allocated);
    CHECK((of_phase == phase.peak || of_phase == 0));
  }
  // Fused Adam, whose states are there, allocates nothing in the last phase.
  CHECK(result.timeline.back().phase == Phase::optimizer_step);
  CHECK(result.timeline.back().allocated == result.phases.back().peak);
}
