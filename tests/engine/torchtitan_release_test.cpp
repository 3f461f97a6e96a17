// Releases of torchtitan: what each starts from, how links name them, and what differs on the GPU.
// Source: pytorch/torchtitan v0.2.1, v0.2.2 and b5bcd76c.
#include <algorithm>
#include <cstring>

#include "engine/codec/comparison.h"
#include "engine/codec/json_config.h"
#include "engine/codec/link.h"
#include "engine/config/values.h"
#include "engine/tape/fold.h"
#include "engine/tensor/tensor.h"
#include "engine/training/step.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

constexpr TorchtitanRelease releases[] = {TorchtitanRelease::current, TorchtitanRelease::release_0_2_2,
                                          TorchtitanRelease::before_0_2_2};

Config sharded(TorchtitanRelease release) {
  Config config;
  config.model = small_llama(4);
  config.model.num_key_value_heads = 4;
  config.recipe = default_recipe(Framework::torchtitan, release);
  config.recipe.sequence_length = 1024;
  config.recipe.data_parallel_size = 4;
  config.recipe.recomputation = Recomputation::none;
  return config;
}

/// The largest tensor of this role, and how many there are of its size.
std::pair<Bytes, std::int64_t> largest(const Config& config, const char* role) {
  Bytes bytes = 0;
  std::int64_t count = 0;
  const Recording recording = run_training(config, {.steps = 1});
  for (const StorageRecord& storage : recording.storages) {
    if (storage.role == nullptr || std::strcmp(storage.role, role) != 0) continue;
    if (storage.bytes > bytes) count = 0;
    bytes = std::max(bytes, storage.bytes);
    count += storage.bytes == bytes ? 1 : 0;
  }
  return {bytes, count};
}

Bytes gradients_after_step(const Config& config) {
  Bytes bytes = -1;
  for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2})))
    if (phase.step == 2) bytes = phase.end.components[static_cast<std::size_t>(Component::gradients)];
  return bytes;
}

}  // namespace

TEST_CASE(
    "torchtitan: JSON without a release means the newest release, a link without one what links have always meant") {
  const ReadConfig json = read_config(R"({"model":"llama3.1-8b","recipe":{"framework":"torchtitan"}})");
  CHECK(json.config.recipe == default_recipe(Framework::torchtitan));
  const ReadConfig link = parse_link("v=1&model=llama3.1-8b&fw=torchtitan&end");
  CHECK(link.config.recipe == default_recipe(Framework::torchtitan, TorchtitanRelease::before_0_2_2));
  CHECK(format_link(link.config) == "v=1&model=llama3.1-8b&fw=torchtitan&end");
  CHECK(format_link(json.config) == "v=1&model=llama3.1-8b&fw=torchtitan&titan=0_2_2&end");
}

TEST_CASE("torchtitan: a release named in JSON sets the defaults of the other fields, too") {
  const Recipe recipe =
      read_config(R"({"model":"gpt2","recipe":{"torchtitan_release":"0_2_2","framework":"torchtitan"}})").config.recipe;
  CHECK(recipe.torchtitan_release == TorchtitanRelease::release_0_2_2);
  CHECK(recipe.loss == Loss::full);
  CHECK_FALSE(recipe.cuda_graphs);
}

TEST_CASE("torchtitan: every release survives JSON, links, and links of two configurations") {
  for (const TorchtitanRelease first : releases) {
    Config a = read_config(R"({"model":"llama3.1-8b"})").config;
    a.recipe = default_recipe(Framework::torchtitan, first);
    CHECK(parse_link(format_link(a)).config.recipe == a.recipe);
    CHECK(read_config(write_config(a)).config.recipe == a.recipe);
    for (const TorchtitanRelease second : releases) {
      Config b = a;
      b.recipe = default_recipe(Framework::torchtitan, second);
      b.recipe.data_parallel_size = 8;
      const ReadComparison read = parse_comparison(format_comparison(a, b));
      CHECK(read.a.config.recipe == a.recipe);
      CHECK(read.b.config.recipe == b.recipe);
    }
  }
}

// models/llama3/model/model.py of 0.2.1: repeat_kv; of 0.2.2: enable_gqa. 16 query heads of 64 share 4.
TEST_CASE("torchtitan: attention is given repeated heads before 0.2.2, the heads as they are since") {
  const auto copies = [](TorchtitanRelease release) {
    const Recording recording = run_training(sharded(release), {.steps = 1});
    return std::count_if(recording.storages.begin(), recording.storages.end(), [](const StorageRecord& storage) {
      return storage.made_by != nullptr && std::strcmp(storage.made_by->name, "clone") == 0 &&
             storage.bytes == Bytes{1024} * 1024 * 2;
    });
  };
  CHECK(copies(TorchtitanRelease::before_0_2_2) == copies(TorchtitanRelease::release_0_2_2) + 2 * 4);
}

// models/common/rope.py: a table for each of four layers, as long as the training's sequences; before, one as long as
// the model's positions. 64 channels of a head in fp32.
TEST_CASE("torchtitan: every layer has a rotary table of its own today") {
  CHECK(largest(sharded(TorchtitanRelease::current), "rotary frequencies") ==
        std::pair<Bytes, std::int64_t>{Bytes{1024} * 64 * 4, 4});
  Config before = sharded(TorchtitanRelease::release_0_2_2);
  before.model.max_position_embeddings = 4096;
  CHECK(largest(before, "rotary frequencies") == std::pair<Bytes, std::int64_t>{Bytes{4096} * 64 * 4, 1});
}

// components/loss.py: eight chunks of 1024 tokens, in each step one after another.
TEST_CASE("torchtitan: logits are those of an eighth of the tokens today") {
  CHECK(largest(sharded(TorchtitanRelease::current), "fp32 logits") ==
        std::pair<Bytes, std::int64_t>{Bytes{1024} / 8 * 32000 * 4, 8});
  Config odd = sharded(TorchtitanRelease::current);
  odd.recipe.sequence_length = 1001;
  const Issues issues = validate(odd);
  CHECK(std::any_of(issues.begin(), issues.end(), [](const Issue& issue) { return issue.code == "not_divisible"; }));
}

// trainer.py, train_step: zero_grad(set_to_none=disable_cuda_graphs).
TEST_CASE("torchtitan: under CUDA graphs the sharded gradients stay from step to step") {
  Config config = sharded(TorchtitanRelease::current);
  const Bytes kept = gradients_after_step(config);
  config.recipe.cuda_graphs = false;
  CHECK(gradients_after_step(config) == 0);
  const Bytes parameters =
      Bytes{2} * 32000 * 1024 + 1024 + Bytes{4} * (1024 * (1024 + 2 * 256) + 1024 * 1024 + 3 * 1024 * 2816 + 2 * 1024);
  CHECK(kept == parameters * 4 / 4);
}

TEST_CASE("torchtitan: the folded tape of today's step has the peaks of the recorded one") {
  Config config = sharded(TorchtitanRelease::current);
  config.recipe.gradient_accumulation_steps = GENERATE(1, 5);
  config.recipe.recomputation = GENERATE(Recomputation::none, Recomputation::full, Recomputation::selective_operations);
  const auto highest = [&](bool folded) {
    Bytes most = 0;
    for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2, .fold = folded})))
      if (phase.step == 2) most = std::max(most, phase.peak.total);
    return most;
  };
  CHECK(highest(true) == highest(false));
}
