// Trials of advice: runs that end before their time say no more than they know.
#include "engine/advice/trials.h"

#include "engine/codec/link.h"
#include "engine/estimate.h"
#include "engine/peak/peak.h"
#include "tests/catch.h"

using namespace trainmem;

TEST_CASE("trials: whether a configuration takes less than some bytes is what its whole run says") {
  const char* link =
      GENERATE("v=1&model=gpt2&gpu=h100-sxm&seq=512&end",
               "v=1&model=llama3.2-1b&gpu=h100-sxm&fw=deepspeed&dp_kind=zero3&dp=8&precision=bf16_mixed&end",
               "v=1&model=gpt3-175b&gpu=h100-sxm&fw=megatron&tp=8&pp=16&ga=64&end");
  CAPTURE(link);
  const ReadConfig read = parse_link(link);
  REQUIRE(read.issues.empty());
  const Config& config = read.config;
  const Bytes peak = estimate_peak(config).allocated;
  const Bytes weights = estimate(config).components[Component::weights];
  Trials rising;
  for (const Bytes than : {Bytes{1}, weights / 2, weights, peak - 1, peak})
    CHECK_FALSE(rising.allocates_less(config, than));
  CHECK(rising.allocates_less(config, peak + 1));
  CHECK(rising.allocated(config) == peak);
  Trials falling;
  CHECK(falling.allocates_less(config, peak + 1));
  CHECK_FALSE(falling.allocates_less(config, peak));
  Trials cut_short;
  CHECK_FALSE(cut_short.allocates_less(config, 1));
  CHECK(cut_short.allocated(config) == peak);
}

TEST_CASE("trials: an outcome is that of a fresh estimate, whatever was asked before") {
  const Config config = parse_link("v=1&model=llama3.2-1b&gpu=h100-sxm&dp_kind=fsdp&dp=8&end").config;
  Config other = config;
  other.recipe.micro_batch_size = 2;
  const Outcome fresh = outcome(config);
  Trials trials;
  trials.allocated(config);
  if (GENERATE(false, true)) trials.allocated(other);
  for (int i = 0; i < 2; ++i) {
    const Outcome tried = trials.outcome(config);
    CHECK(tried.allocated == fresh.allocated);
    CHECK(tried.components == fresh.components);
    CHECK(tried.reserved.expected == fresh.reserved.expected);
    CHECK(tried.device.high == fresh.device.high);
  }
}
