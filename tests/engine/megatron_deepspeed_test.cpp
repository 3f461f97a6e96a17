// DeepSpeed's pipeline around Megatron's layers, held against what BigScience's runs printed and DeepSpeed's own code.
#include "engine/training/megatron_deepspeed.h"

#include <algorithm>

#include "engine/config/values.h"
#include "engine/modelled/modelled.h"
#include "engine/peak/peak.h"
#include "engine/tape/fold.h"
#include "engine/training/step.h"
#include "tests/catch.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

constexpr Bytes mib = 1024 * 1024;

/// bigscience-workshop/bigscience experiments/gpt2-meg-ds-3d/meg_ds_3d_gpt2_perf_n16-ds-on.out: 52B on 64 V100,
/// DeepSpeed 0.4 in fp16 without ZeRO, 256 micro-batches.
Config gpt_on_64_v100() {
  Config config;
  config.gpu.architecture = GpuArchitecture::volta;
  config.model = small_gpt(64);
  Model& model = config.model;
  model.hidden_size = 8192;
  model.intermediate_size = 32768;
  model.num_attention_heads = model.num_key_value_heads = 32;
  model.head_dim = 256;
  model.vocab_size = 50257;
  model.tie_word_embeddings = true;
  config.recipe = default_recipe(Framework::deepspeed);
  Recipe& recipe = config.recipe;
  recipe.precision = Precision::fp16_mixed;
  recipe.attention = AttentionKernel::eager;
  recipe.fused_mlp = true;
  recipe.recomputation = Recomputation::full;
  recipe.micro_batch_size = 4;
  recipe.sequence_length = 1024;
  recipe.gradient_accumulation_steps = 256;
  recipe.tensor_parallel = 4;
  recipe.pipeline_parallel = 16;
  recipe.vocabulary_multiple = 128;
  return config;
}

/// A GPT in bf16 with fp32 gradients, as BF16_Optimizer keeps them.
Config small_bf16(std::int64_t tensor, std::int64_t stages) {
  Config config;
  config.gpu.architecture = GpuArchitecture::ampere;
  config.model = small_gpt(8);
  config.model.tie_word_embeddings = true;
  config.recipe = default_recipe(Framework::deepspeed);
  Recipe& recipe = config.recipe;
  recipe.attention = AttentionKernel::eager;
  recipe.gradients_dtype = DType::float32;
  recipe.data_parallel = DataParallel::zero1;
  recipe.data_parallel_size = 4;
  recipe.sequence_length = 1024;
  recipe.gradient_accumulation_steps = 8;
  recipe.tensor_parallel = tensor;
  recipe.pipeline_parallel = stages;
  return config;
}

Issues issues_of(const Config& config) {
  Issues issues;
  report_not_modelled(config, issues);
  return issues;
}

struct LastStep {
  Bytes highest_backward = 0;
  Alive end;
};

LastStep last_step(const Config& config, std::int64_t stage, bool folded = true) {
  LastStep result;
  for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2, .fold = folded, .stage = stage}))) {
    if (phase.step != 2) continue;
    if (phase.phase == Phase::backward) result.highest_backward = std::max(result.highest_backward, phase.peak.total);
    result.end = phase.end;
  }
  return result;
}

Bytes of(const Alive& alive, Component component) { return alive.components[component]; }

}  // namespace

// The log's "number of parameters on (tensor, pipeline) model parallel rank": the last stage has a second embedding.
TEST_CASE("Megatron-DeepSpeed: parameters of a stage are those that BigScience's run printed") {
  const Config config = gpt_on_64_v100();
  REQUIRE(issues_of(config).empty());
  CHECK(megatron_deepspeed_parameters(config, 0) == 917757952);
  CHECK(megatron_deepspeed_parameters(config, 1) == 805560320);
  CHECK(megatron_deepspeed_parameters(config, 15) == 917774336);
}

// The log's "max allocated": 17461.948, 17189.947, 16917.947 ... MiB of stages 1, 2, 3: 272 MiB a micro-batch, which
// are the inputs of four layers, 64 MiB each, and a quarter of the output.
TEST_CASE("Megatron-DeepSpeed: a micro-batch in flight holds what BigScience's stages differ by") {
  const Config config = gpt_on_64_v100();
  const Bytes first = last_step(config, 1).highest_backward;
  CHECK(first - last_step(config, 2).highest_backward == 272 * mib);
  CHECK(first - last_step(config, 7).highest_backward == 6 * 272 * mib);
}

// The log's "max allocated" of stages 1 to 8, whose highest moment is in backward.
TEST_CASE("Megatron-DeepSpeed: the highest moment of a backward is that of BigScience's run") {
  const Config config = gpt_on_64_v100();
  CHECK(static_cast<double>(last_step(config, 1).highest_backward) == Approx(17461.947 * mib).epsilon(0.004));
  CHECK(static_cast<double>(last_step(config, 8).highest_backward) == Approx(15557.944 * mib).epsilon(0.004));
}

// The log's "allocated" after an iteration.
TEST_CASE("Megatron-DeepSpeed: between steps the GPU holds what BigScience's run printed") {
  const Config config = gpt_on_64_v100();
  CHECK(static_cast<double>(last_step(config, 0).end.total) == Approx(12337.456 * mib).epsilon(0.007));
  CHECK(static_cast<double>(last_step(config, 1).end.total) == Approx(10837.395 * mib).epsilon(0.007));
  CHECK(static_cast<double>(last_step(config, 15).end.total) == Approx(12923.832 * mib).epsilon(0.007));
}

// bf16_optimizer.py: weights 2 bytes, gradients 2 and 4, master weights and two states 12 over the data-parallel GPUs.
TEST_CASE("Megatron-DeepSpeed in bf16: gradients are kept in both formats") {
  const std::int64_t stage = GENERATE(0, 1, 3);
  const Config config = small_bf16(2, 4);
  REQUIRE(issues_of(config).empty());
  const std::int64_t n = megatron_deepspeed_parameters(config, stage);
  const std::int64_t padded = (n + 7) / 8 * 8;
  const std::int64_t without_gradient = stage == 3 ? 1024 * 1024 : 0;  // positions beside the tied head
  const Alive end = last_step(config, stage).end;
  CHECK(of(end, Component::weights) == 2 * padded);
  CHECK(of(end, Component::gradients) == 4 * padded + 2 * (n - without_gradient));
  CHECK(of(end, Component::master_weights) == padded);
}

TEST_CASE("Megatron-DeepSpeed: one pipeline stage with tied embeddings has one table") {
  const Config config = small_bf16(2, 1);
  const std::int64_t h = 1024;
  const std::int64_t layer = 12 * h * h / 2 + (3 * h + 4 * h) / 2 + 2 * h + 4 * h;
  CHECK(megatron_deepspeed_parameters(config, 0) == 8 * layer + 51200 * h / 2 + 1024 * h + 2 * h);
}

// Micro-batches and steps that are folded must add up to those that are not.
TEST_CASE("Megatron-DeepSpeed: a folded run holds what the whole run does") {
  for (const std::int64_t stages : {1, 4}) {
    for (std::int64_t stage = 0; stage < stages; stage += 3) {
      for (const std::int64_t tensor : {1, 2}) {
        if (tensor * stages == 1) continue;
        Config config = small_bf16(tensor, stages);
        config.recipe.gradient_accumulation_steps = 12;
        const LastStep folded = last_step(config, stage);
        const LastStep whole = last_step(config, stage, false);
        CAPTURE(stages, stage, tensor);
        CHECK(folded.highest_backward == whole.highest_backward);
        CHECK(folded.end.total == whole.end.total);
      }
    }
  }
}

TEST_CASE("Megatron-DeepSpeed: BLOOM has a norm after its embedding and ALiBi in place of positions") {
  Config config = small_bf16(2, 4);
  config.model.positions = Positions::alibi;
  config.model.embedding_norm = true;
  REQUIRE(issues_of(config).empty());
  const std::int64_t h = 1024;
  const Config learned = small_bf16(2, 4);
  CHECK(megatron_deepspeed_parameters(config, 0) == megatron_deepspeed_parameters(learned, 0) - 1024 * h + 2 * h);
  CHECK(megatron_deepspeed_parameters(config, 3) == megatron_deepspeed_parameters(learned, 3) - 1024 * h);
  config.recipe.framework = Framework::megatron;
  config.recipe.gradients_dtype = DType::automatic;
  CHECK(issues_of(config).size() >= 2);
}

TEST_CASE("Megatron-DeepSpeed: what it does not do is said") {
  Config config = small_bf16(2, 4);
  const auto path_of_only = [&](auto change) {
    Config changed = config;
    change(changed);
    const Issues issues = issues_of(changed);
    REQUIRE(issues.size() == 1);
    CHECK_FALSE(issues[0].hint.empty());
    return issues[0].path;
  };
  CHECK(path_of_only([](Config& c) { c.model.num_key_value_heads = 4; }) == "/model/num_key_value_heads");
  CHECK(path_of_only([](Config& c) { c.recipe.sequence_parallel = true; }) == "/recipe/sequence_parallel");
  CHECK(path_of_only([](Config& c) { c.recipe.pipeline_schedule = PipelineSchedule::gpipe; }) ==
        "/recipe/pipeline_schedule");
  CHECK(path_of_only([](Config& c) { c.recipe.sequence_length = 8192; }) == "/recipe/sequence_length");
  CHECK(path_of_only([](Config& c) { c.recipe.tensor_parallel = 8; }) == "/recipe/micro_batch_size");
  CHECK(path_of_only([](Config& c) { c.model.tie_word_embeddings = false; }) == "/model/tie_word_embeddings");
  CHECK(path_of_only([](Config& c) { c.recipe.recomputation = Recomputation::every_k; }) == "/recipe/recomputation");
}

TEST_CASE("Megatron-DeepSpeed: a Llama with heads of its own keys has an answer") {
  Config config = small_bf16(2, 2);
  config.model = small_llama(8);
  config.recipe.attention = AttentionKernel::flash;
  REQUIRE(issues_of(config).empty());
  CHECK(estimate_peak(config).allocated > 0);
}
