// A schedule either prices a configuration as the folded run of it does, or says that it cannot.
#include "engine/peak/schedule.h"

#include "engine/codec/json_config.h"
#include "engine/codec/link.h"
#include "engine/peak/peak_pricer.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/random_config.h"

using namespace trainmem;

namespace {

bool same(const Peak& a, const Peak& b) {
  return a.allocated == b.allocated && a.components == b.components && a.phase == b.phase;
}

/// The same structure with other sizes. They need not fit together.
Config other_sizes(Config config, Random& random) {
  const auto change = [&](Size& size, std::int64_t most) {
    if (!random.chance(30)) return;
    const std::int64_t old = size;
    const std::int64_t choices[] = {1, 2, 3, old - 1, old + 1, 2 * old, old / 2 + 1, 1 + random.below(most)};
    size = random.pick(choices);
    if (size < 1 || size > most) size = old;
  };
  Model& model = config.model;
  Recipe& recipe = config.recipe;
  change(recipe.micro_batch_size, 64);
  change(recipe.sequence_length, 8192);
  change(recipe.gradient_accumulation_steps, 64);
  change(recipe.data_parallel_size, 512);
  change(recipe.tensor_parallel, 8);
  change(model.num_hidden_layers, 100);
  change(model.vocab_size, 200000);
  change(model.intermediate_size, 20000);
  if (random.chance(30)) {
    const bool multi_head = model.num_key_value_heads == model.num_attention_heads;
    change(model.num_key_value_heads, 16);
    model.num_attention_heads =
        multi_head ? model.num_key_value_heads : model.num_key_value_heads * (1 + random.below(8));
    change(model.head_dim, 256);
    model.hidden_size = model.num_attention_heads * model.head_dim;
  }
  return config;
}

}  // namespace

TEST_CASE("property: a schedule prices other sizes as their folded run does, or declines") {
  Random random(71);
  int priced = 0;
  int declined = 0;
  for (int i = 0; i < 120; ++i) {
    const Config config = random_valid_config(random);
    const std::int64_t stage = random.below(config.recipe.pipeline_parallel);
    INFO(format_link(config));
    const Schedule schedule(config, stage);
    Peak peak;
    REQUIRE(schedule.price(open_sizes(config), peak));
    REQUIRE(same(peak, stage_peak(config, stage)));
    for (int variation = 0; variation < 25; ++variation) {
      const Config other = other_sizes(config, random);
      if (!validate(other).empty() || !schedule.price(open_sizes(other), peak)) {
        ++declined;
        continue;
      }
      ++priced;
      INFO(format_link(other));
      const Peak expected = stage_peak(other, stage);
      REQUIRE(peak.allocated == expected.allocated);
      REQUIRE(same(peak, expected));
    }
  }
  INFO(priced << " priced, " << declined << " declined or not valid");
  CHECK(priced > 300);
}

TEST_CASE("property: the pricer answers as the folded runs of all stages do") {
  Random random(72);
  PeakPricer pricer;
  for (int i = 0; i < 40; ++i) {
    const Config config = random_valid_config(random);
    for (int variation = 0; variation < 10; ++variation) {
      const Config other = variation == 0 ? config : other_sizes(config, random);
      if (!validate(other).empty()) continue;
      INFO(format_link(other));
      REQUIRE(same(pricer.peak(other), estimate_peak(other)));
    }
  }
}

TEST_CASE("schedule: another size is priced where the run goes the same way, and declined where it does not") {
  Config config =
      read_config(R"({"model": "llama3.1-8b", "recipe": {"preset": "bf16-one-gpu", "micro_batch_size": 4}})").config;
  const Schedule schedule(config, 0);
  Peak peak;
  const auto prices = [&](auto change) {
    Config other = config;
    change(other);
    return schedule.price(open_sizes(other), peak) && same(peak, stage_peak(other, 0));
  };
  CHECK(prices([](Config& c) { c.recipe.micro_batch_size = 9; }));
  CHECK(prices([](Config& c) { c.recipe.sequence_length = 777; }));
  CHECK(prices([](Config& c) { c.model.vocab_size = 32000; }));
  CHECK(prices([](Config& c) { c.model.num_hidden_layers = 80; }));
  // One sequence: the labels are a view in place of a copy. Heads of 512: another attention kernel.
  CHECK_FALSE(prices([](Config& c) { c.recipe.micro_batch_size = 1; }));
  CHECK_FALSE(prices([](Config& c) { c.model.head_dim = 512; }));
}

TEST_CASE("pricer: one schedule serves all sizes of a structure, another structure gets its own") {
  Config config = read_config(R"({"model": "llama2-7b", "recipe": "bf16-one-gpu"})").config;
  PeakPricer pricer;
  for (const std::int64_t batch : {2, 3, 4, 8}) {
    config.recipe.micro_batch_size = batch;
    CHECK(same(pricer.peak(config), estimate_peak(config)));
  }
  CHECK(pricer.schedules() == 1);
  config.recipe.attention = AttentionKernel::eager;
  CHECK(same(pricer.peak(config), estimate_peak(config)));
  CHECK(pricer.schedules() == 2);
}

TEST_CASE("pricer: a sweep of GPT-3 175B under Megatron runs each of its stages once") {
  Config config =
      read_config(R"({"model": "gpt3-175b", "gpu": "a100-80gb-sxm", "recipe": "megatron-gpt3-175b"})").config;
  PeakPricer pricer;
  for (const std::int64_t length : {1024, 1152, 1536, 2048}) {
    config.recipe.sequence_length = length;
    CHECK(same(pricer.peak(config), estimate_peak(config)));
  }
  CHECK(pricer.schedules() == 4);  // the first two stages and the last two stand for all sixteen
}
