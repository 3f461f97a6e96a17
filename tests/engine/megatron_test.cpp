#include "engine/training/megatron.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "engine/estimate.h"
#include "engine/parallel/pipeline.h"
#include "engine/peak/peak.h"
#include "engine/tape/fold.h"
#include "engine/tape/rule.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

Config tied_gpt() {
  Config config;
  config.gpu.architecture = GpuArchitecture::hopper;
  config.model = small_gpt(12);
  config.model.vocab_size = 50257;
  config.model.tie_word_embeddings = true;
  config.recipe = megatron_recipe();
  Recipe& recipe = config.recipe;
  recipe.vocabulary_multiple = 128;
  recipe.micro_batch_size = 2;
  recipe.gradient_accumulation_steps = 8;
  return config;
}

}  // namespace

TEST_CASE("Megatron: GPT-3 175B has 174,604,259,328 parameters, and its stages hold what they should") {
  Config config = tied_gpt();
  config.model.hidden_size = 12288;
  config.model.intermediate_size = 49152;
  config.model.num_attention_heads = config.model.num_key_value_heads = 96;
  config.model.head_dim = 128;
  config.model.num_hidden_layers = 96;
  config.model.learned_positions = 2048;
  config.recipe.vocabulary_multiple = 1;
  CHECK(megatron_parameters(config, 0) == 174604259328);  // published: 174,600 M (GPT-3 paper, table D.1)

  // One layer: 12 h^2 + 13 h. Eight ways: matrices, their biases and the table are divided, the rest is not.
  config.recipe.tensor_parallel = 8;
  config.recipe.pipeline_parallel = 16;
  config.recipe.vocabulary_multiple = 128;
  const std::int64_t h = 12288;
  const std::int64_t layer = 12 * h * h / 8 + (3 * h + 4 * h) / 8 + 2 * h + 4 * h;
  const std::int64_t padded = 51200;  // 50,257 up to a multiple of 128 x 8
  CHECK(megatron_parameters(config, 0) == 6 * layer + padded / 8 * h + 2048 * h);
  CHECK(megatron_parameters(config, 7) == 6 * layer);
  CHECK(megatron_parameters(config, 15) == 6 * layer + padded / 8 * h + 2 * h);
}

TEST_CASE("Megatron: states take the bytes a parameter that Megatron Core's table names") {
  struct Row {
    Precision precision;
    DType gradients;
    std::int64_t whole, fixed, divided;
  };
  const Row row = GENERATE(
      Row{Precision::bf16_mixed, DType::automatic, 18, 6, 12}, Row{Precision::fp16_mixed, DType::automatic, 20, 4, 16},
      Row{Precision::fp16_mixed, DType::float32, 18, 6, 12}, Row{Precision::fp32, DType::automatic, 16, 8, 8});
  Config config = tied_gpt();
  config.recipe.precision = row.precision;
  config.recipe.gradients_dtype = row.gradients;
  const auto states = [](const Config& c) {
    Bytes bytes = 0;
    // The highest moment of the optimizer's phase: gradients copied, moments there.
    for (const FoldedPhase& phase : fold(run_megatron(c, {.steps = 2, .fold = true, .stage = 0}))) {
      if (phase.phase != Phase::optimizer_step || phase.step != 2) continue;
      Bytes sum = 0;
      for (const Component component : {Component::weights, Component::master_weights, Component::gradients,
                                        Component::optimizer_states, Component::optimizer_temporaries})
        sum += phase.peak.components[component];
      bytes = std::max(bytes, sum);
    }
    return bytes;
  };
  const std::int64_t n = megatron_parameters(config, 0);
  CHECK(states(config) == row.whole * n);
  config.recipe.distributed_optimizer = true;
  config.recipe.data_parallel_size = 8;
  const std::int64_t buffer = (n + 127) / 128 * 128;
  CHECK(states(config) == row.fixed * buffer + row.divided * buffer / 8);
}

TEST_CASE("Megatron: the folded tape has the peaks of the recorded one, on every stage") {
  const auto pipeline = GENERATE(1, 3, 4);
  const auto recomputation = GENERATE(Recomputation::none, Recomputation::selective_attention, Recomputation::full);
  const auto attention = GENERATE(AttentionKernel::flash, AttentionKernel::eager);
  const auto micro_batches = GENERATE(1, 2, 8);
  Config config = tied_gpt();
  config.recipe.gradient_accumulation_steps = micro_batches;
  config.recipe.pipeline_parallel = pipeline;
  config.recipe.recomputation = recomputation;
  config.recipe.attention = attention;
  config.recipe.tensor_parallel = 2;
  config.recipe.sequence_parallel = true;
  if (recomputation == Recomputation::full) config.recipe.recomputation_layers = 2;
  for (std::int64_t stage = 0; stage < pipeline; ++stage) {
    const auto folded = fold(run_megatron(config, {.steps = 2, .fold = true, .stage = stage}));
    const auto recorded = fold(run_megatron(config, {.steps = 2, .fold = false, .stage = stage}));
    CAPTURE(pipeline, stage, micro_batches, static_cast<int>(recomputation), static_cast<int>(attention));
    // Folded weights are one tensor, which is never copied as each of them is: initialisation is alike at its end.
    CHECK(folded.front().end.components == recorded.front().end.components);
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer_step}) {
      const auto highest = [phase](const std::vector<FoldedPhase>& phases) {
        Alive peak;
        for (const FoldedPhase& each : phases)
          if (each.phase == phase && each.peak.total > peak.total) peak = each.peak;
        return peak;
      };
      CHECK(highest(folded).total == highest(recorded).total);
      CHECK(highest(folded).components == highest(recorded).components);
    }
  }
}

TEST_CASE("pipeline: layers are shared out, first and last may name theirs") {
  Recipe recipe;
  recipe.pipeline_parallel = 4;
  recipe.gradient_accumulation_steps = 8;
  const auto layers = [&](std::int64_t total) {
    std::vector<std::int64_t> result;
    for (const PipelineStage& stage : pipeline_stages(recipe, total)) result.push_back(stage.layers);
    return result;
  };
  CHECK(layers(32) == std::vector<std::int64_t>{8, 8, 8, 8});
  CHECK(layers(30) == std::vector<std::int64_t>{8, 8, 7, 7});
  recipe.pipeline_first_stage_layers = 6;
  recipe.pipeline_last_stage_layers = 4;
  CHECK(layers(30) == std::vector<std::int64_t>{6, 10, 10, 4});
}

TEST_CASE("pipeline: stage i of p holds p - i micro-batches under 1F1B, and never more than there are") {
  Config config = tied_gpt();
  config.recipe.pipeline_parallel = 4;
  config.model.num_hidden_layers = 12;
  const auto in_flight = [&](std::int64_t steps) {
    config.recipe.gradient_accumulation_steps = steps;
    std::vector<std::int64_t> result;
    for (const PipelineStage& stage : pipeline_stages(config.recipe, 12))
      result.push_back(stage.micro_batches_in_flight);
    return result;
  };
  CHECK(in_flight(8) == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(in_flight(2) == std::vector<std::int64_t>{2, 2, 2, 1});
  CHECK(in_flight(1) == std::vector<std::int64_t>{1, 1, 1, 1});

  // From the tape: two neighbours of the middle differ by what one micro-batch keeps. Korthikanti: 34 sbh for a
  // layer with flash attention in place of 5as^2b, here without attention's dropout mask.
  config.recipe.gradient_accumulation_steps = 8;
  const Bytes difference =
      highest_peak(config, {.fold = true, .stage = 1}) - highest_peak(config, {.fold = true, .stage = 2});
  const Bytes sbh = 1024 * 2 * 1024;
  const Bytes layer = 34 * sbh + 16 * 1024 * 2 + 4 * 16 * 1024 * 2;  // norm statistics, log-sum-exp
  CHECK(difference == 3 * layer);
}

// Transformer Engine 2.11 pytorch/module/linear.py and layernorm_linear.py: clear_tensor_data(grad_output) and
// clear_tensor_data(ln_out_total) come before get_dummy_wgrad, so the stand-in may lie where the gathered rows lay.
TEST_CASE("Megatron: a parallel layer lets go of gathered rows before its weight's stand-in is made") {
  Config config = tied_gpt();
  config.recipe.tensor_parallel = 2;
  config.recipe.sequence_parallel = true;
  const Recording tape = run_megatron(config, {.steps = 1, .fold = false, .stage = 0});
  const auto is = [](const StorageRecord& storage, const char* rule) {
    return storage.made_by != nullptr && std::string_view(storage.made_by->name) == rule;
  };
  int gathered = 0;
  int stand_ins = 0;
  for (const Event event : tape.events) {
    const StorageRecord& storage = tape.storage_of(event);
    if (is(storage, "all-gather of the sequence")) gathered += allocates(event) ? 1 : -1;
    if (!allocates(event)) continue;
    if (!is(storage, "dummy weight gradient")) continue;
    ++stand_ins;
    CHECK(gathered == 0);
  }
  CHECK(stand_ins == 5);  // of a layer's four products and of the head
}

TEST_CASE("Megatron: more sharding never costs more") {
  Config config = tied_gpt();
  const Bytes whole = highest_peak(config);
  config.recipe.tensor_parallel = 4;
  const Bytes tensor = highest_peak(config);
  config.recipe.sequence_parallel = true;
  const Bytes sequence = highest_peak(config);
  config.recipe.distributed_optimizer = true;
  config.recipe.data_parallel_size = 8;
  const Bytes distributed = highest_peak(config);
  CHECK(tensor < whole);
  CHECK(sequence < tensor);
  CHECK(distributed < sequence);
  config.recipe.recomputation = Recomputation::selective_attention;
  config.recipe.attention = AttentionKernel::eager;
  const Bytes selective = highest_peak(config);
  config.recipe.recomputation = Recomputation::none;
  CHECK(selective <= highest_peak(config));
  config.recipe.recomputation = Recomputation::full;
  CHECK(highest_peak(config) <= selective);
}

TEST_CASE("Megatron: an answer has every stage's own peak, run or on the line between two that were run") {
  Config config = tied_gpt();
  config.recipe.pipeline_parallel = 12;
  config.recipe.gradient_accumulation_steps = GENERATE(3, 12, 40);
  const Result result = estimate(config);
  REQUIRE(result.stages.size() == 12);
  Bytes highest = 0;
  for (const Stage& stage : result.stages) {
    CAPTURE(stage.index, config.recipe.gradient_accumulation_steps);
    CHECK(stage.allocated == highest_peak(config, {.fold = true, .stage = stage.index}));
    CHECK(stage.parameters == megatron_parameters(config, stage.index));
    Bytes sum = 0;
    for (const Bytes bytes : stage.components) sum += bytes;
    CHECK(sum == stage.allocated);
    highest = std::max(highest, stage.allocated);
  }
  for (const Stage& stage : result.stages)
    if (stage.worst) CHECK(stage.allocated == highest);
  CHECK(result.allocated == highest);
  CHECK(estimate_peak(config).allocated == highest);
}
