// Megatron's ways to recompute parts of a layer, and groups of layers.
#include "tests/catch.h"
#include "tests/highest_peak.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

constexpr Bytes tokens = Bytes{1024} * 2;
constexpr Bytes sbh = tokens * 1024;

/// A GPT of 32 layers on four stages.
Config gpt(AttentionKernel attention) {
  Config config;
  config.gpu.architecture = GpuArchitecture::ampere;
  config.model = small_gpt(32);
  config.recipe = megatron_recipe();
  Recipe& recipe = config.recipe;
  recipe.attention = attention;
  recipe.transformer_engine = attention != AttentionKernel::eager;
  recipe.micro_batch_size = 2;
  recipe.pipeline_parallel = 4;
  recipe.gradient_accumulation_steps = 8;
  return config;
}

/// What a micro-batch keeps in a stage's eight layers.
Bytes kept(const Config& config) {
  return highest_peak(config, {.fold = true, .stage = 1}) - highest_peak(config, {.fold = true, .stage = 2});
}

Bytes kept_with(AttentionKernel attention, const char* modules) {
  Config config = gpt(attention);
  config.recipe.recomputation = Recomputation::selective_modules;
  config.recipe.recomputation_modules = modules;
  return kept(config);
}

}  // namespace

// Korthikanti et al. 2022, section 4.1: of an MLP's 19 sbh its mask, sbh, is made after the recomputed part; of the
// norm before it stays the input, 2 sbh, and not its statistics.
TEST_CASE("recomputed modules: an MLP keeps its input") {
  const Bytes none = kept(gpt(AttentionKernel::sdpa));
  CHECK(none - kept_with(AttentionKernel::sdpa, "mlp") == 8 * (18 * sbh + 8 * tokens));
}

TEST_CASE("recomputed modules: core_attn is selective recomputation of core attention") {
  Config config = gpt(AttentionKernel::eager);
  config.recipe.recomputation = Recomputation::selective_attention;
  CHECK(kept_with(AttentionKernel::eager, "core_attn") == kept(config));
  // 5as^2b of a layer go: softmax, dropout mask and dropped probabilities.
  const Bytes scores = 16 * Bytes{1024} * 1024 * 2;
  CHECK(kept(gpt(AttentionKernel::eager)) - kept(config) == 8 * 5 * scores);
}

// Megatron's own layers keep the outputs of two norms, 2 sbh each; mean and 1/std of both go, too.
TEST_CASE("recomputed modules: norms of Megatron's own layers do not keep their results") {
  const Bytes none = kept(gpt(AttentionKernel::eager));
  CHECK(none - kept_with(AttentionKernel::eager, "layernorm") == 8 * (4 * sbh + 16 * tokens));
  CHECK(kept_with(AttentionKernel::sdpa, "layernorm") == kept(gpt(AttentionKernel::sdpa)));
}

TEST_CASE("recomputation: method uniform keeps the input of every group of layers, block that of every layer") {
  Config config = gpt(AttentionKernel::sdpa);
  config.recipe.recomputation = Recomputation::full;
  CHECK(kept(config) == 8 * 2 * sbh);
  config.recipe.recomputation_method = RecomputationMethod::uniform;
  CHECK(kept(config) == 8 * 2 * sbh);  // groups of one layer
  config.recipe.recomputation_layers = 4;
  CHECK(kept(config) == 2 * 2 * sbh);
  config.recipe.recomputation_layers = 3;
  CHECK(kept(config) == 3 * 2 * sbh);
}

TEST_CASE("recomputed modules: the folded tape has the peaks of the recorded one") {
  const auto attention = GENERATE(AttentionKernel::sdpa, AttentionKernel::eager);
  const auto modules = GENERATE("mlp", "layernorm", "core_attn,mlp,layernorm");
  Config config = gpt(attention);
  config.recipe.recomputation = Recomputation::selective_modules;
  config.recipe.recomputation_modules = modules;
  CAPTURE(modules, static_cast<int>(attention));
  for (const std::int64_t stage : {0, 1, 3})
    CHECK(highest_peak(config, {.fold = true, .stage = stage}) ==
          highest_peak(config, {.fold = false, .stage = stage}));
  config.recipe.recomputation = Recomputation::full;
  config.recipe.recomputation_method = RecomputationMethod::uniform;
  config.recipe.recomputation_layers = GENERATE(2, 3);
  for (const std::int64_t stage : {0, 1, 3})
    CHECK(highest_peak(config, {.fold = true, .stage = stage}) ==
          highest_peak(config, {.fold = false, .stage = stage}));
}
