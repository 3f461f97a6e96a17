// Pipeline schedules: the order of turns as the frameworks' sources give it, and what a stage holds by it.
#include "engine/parallel/pipeline.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/estimate.h"
#include "engine/peak/peak.h"
#include "engine/tape/fold.h"
#include "engine/training/megatron.h"
#include "engine/training/step.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

/// A GPT of 16 layers, all of whose dropouts leave masks.
Config pipelined_gpt(PipelineSchedule schedule, std::int64_t stages, std::int64_t micro_batches) {
  Config config;
  config.gpu.architecture = GpuArchitecture::hopper;
  config.model = small_gpt(16);
  config.recipe = megatron_recipe();
  Recipe& recipe = config.recipe;
  recipe.micro_batch_size = 2;
  recipe.pipeline_parallel = stages;
  recipe.pipeline_schedule = schedule;
  recipe.gradient_accumulation_steps = micro_batches;
  if (schedule == PipelineSchedule::interleaved) recipe.virtual_pipeline_stages = 2;
  return config;
}

constexpr Bytes sbh = Bytes{1024} * 2 * 1024;
/// What a layer keeps: 34 sbh of Korthikanti et al. 2022, table 2, with flash attention in place of 5as^2b and of its
/// dropout mask, and the fp32 statistics of two norms and of attention.
constexpr Bytes layer_keeps = 34 * sbh + 16 * 1024 * 2 + 4 * 16 * 1024 * 2;

/// "F0 F1 B1 ...": turns with their chunks.
std::string turns(const Recipe& recipe, std::int64_t stage) {
  std::string text;
  for (const PipelineStretch& stretch : pipeline_order(recipe, stage)) {
    for (std::int64_t i = 0; i < stretch.times; ++i) {
      for (std::size_t t = 0; t < stretch.turns.size(); ++t) {
        const PipelineTurn& turn = stretch.turns[t];
        text += "FBIW"[static_cast<int>(turn.work)] + std::to_string(turn.chunk) + " ";
      }
    }
  }
  return text;
}

std::vector<std::int64_t> in_flight(const Config& config) {
  std::vector<std::int64_t> result;
  for (const PipelineStage& stage : pipeline_stages(config.recipe, config.model.num_hidden_layers))
    result.push_back(stage.micro_batches_in_flight);
  return result;
}

}  // namespace

TEST_CASE("pipeline: 1F1B and GPipe take their turns") {
  Config config = pipelined_gpt(PipelineSchedule::one_forward_one_backward, 4, 3);
  CHECK(turns(config.recipe, 0) == "F0 F0 F0 B0 B0 B0 ");
  CHECK(turns(config.recipe, 2) == "F0 F0 B0 F0 B0 B0 ");
  CHECK(turns(config.recipe, 3) == "F0 B0 F0 B0 F0 B0 ");
  config.recipe.pipeline_schedule = PipelineSchedule::gpipe;
  for (const std::int64_t stage : {0, 3}) CHECK(turns(config.recipe, stage) == "F0 F0 F0 B0 B0 B0 ");
}

// Megatron-LM docs, schedules.py get_schedule_table: 4 micro-batches, 2 chunks, groups of 2:
// chunk ids 0 0 1 1 0 0 1 1; warm-up of rank 0 of 2: 2 (2 - 0 - 1) + (2 - 1) 2 = 4, of rank 1: 2.
TEST_CASE("pipeline: the interleaved schedule takes chunks in groups of as many micro-batches as there are stages") {
  const Config config = pipelined_gpt(PipelineSchedule::interleaved, 2, 4);
  CHECK(turns(config.recipe, 0) == "F0 F0 F1 F1 F0 B1 F0 B1 F1 B0 F1 B0 B1 B1 B0 B0 ");
  CHECK(turns(config.recipe, 1) == "F0 F0 F1 B1 F1 B1 F0 B0 F0 B0 F1 B1 F1 B1 B0 B0 ");
}

// Megatron-LM schedules.py, get_schedule_table: groups of 3, of which the last has 2
// (microbatch_group_size_per_vp_stage 3, num_microbatches 5); warm-up of rank 0 of 2: 2 (2 - 0 - 1) + (2 - 1) 3 = 5.
TEST_CASE("pipeline: a group that is not a multiple of the stages is as small as Megatron accepts") {
  Config config = pipelined_gpt(PipelineSchedule::interleaved, 2, 5);
  CHECK(micro_batch_group(config.recipe) == 3);
  CHECK(turns(config.recipe, 0) == "F0 F0 F0 F1 F1 F1 B1 F0 B1 F0 B1 F1 B0 F1 B0 B0 B1 B1 B0 B0 ");
  config.recipe.pipeline_parallel = 4;
  config.recipe.gradient_accumulation_steps = 10;
  CHECK(micro_batch_group(config.recipe) == 5);
  config.recipe.framework = Framework::torchtitan;  // schedules.py, ScheduleInterleaved1F1B: two rounds
  CHECK(micro_batch_group(config.recipe) == 5);
}

// Megatron-LM functional test gpt3_mcore_te_tp1_pp4_vp2_account_for_embedding_loss_in_pipeline_split: 6 layers in 8
// virtual stages.
TEST_CASE("pipeline: embedding and head count as layers where virtual stages divide in no other way") {
  const Config config = pipelined_gpt(PipelineSchedule::interleaved, 4, 4);
  const auto stages = pipeline_stages(config.recipe, 6);
  REQUIRE(stages.size() == 4);
  std::int64_t next = 0;
  for (std::size_t c = 0; c < 2; ++c)
    for (const PipelineStage& stage : stages) {
      const bool end = stage.chunks[c].first || stage.chunks[c].last;
      CHECK(stage.chunks[c].layers == (end ? 0 : 1));
      CHECK(stage.chunks[c].first_layer == next);
      next += stage.chunks[c].layers;
    }
  CHECK(next == 6);
  CHECK(pipeline_stages(config.recipe, 16)[0].chunks[0].layers == 2);
}

TEST_CASE("pipeline: stages of an interleaved schedule hold 2 (p - i - 1) + (v - 1) p + 1 chunks' activations") {
  const Config config = pipelined_gpt(PipelineSchedule::interleaved, 4, GENERATE(8, 16, 4096));
  CHECK(in_flight(config) == std::vector<std::int64_t>{11, 9, 7, 5});
  // Korthikanti et al. 2022, section 4.2.3: the first stage stores L (1 + (p - 1) / (p v)) layers; here 2 a chunk.
  CHECK(11 * 2 == 16 + 16 * 3 / (4 * 2));
}

TEST_CASE("pipeline: no schedule holds more micro-batches than there are") {
  CHECK(in_flight(pipelined_gpt(PipelineSchedule::interleaved, 4, 4)) == std::vector<std::int64_t>{8, 8, 7, 5});
  CHECK(in_flight(pipelined_gpt(PipelineSchedule::gpipe, 4, 7)) == std::vector<std::int64_t>{7, 7, 7, 7});
  CHECK(in_flight(pipelined_gpt(PipelineSchedule::zero_bubble, 4, 8)) == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(in_flight(pipelined_gpt(PipelineSchedule::zero_bubble, 4, 2)) == std::vector<std::int64_t>{2, 2, 2, 1});
}

// Virtual stage c p + i is chunk c of GPU i.
TEST_CASE("pipeline: every GPU has every p-th virtual stage") {
  const Config config = pipelined_gpt(PipelineSchedule::interleaved, 4, 8);
  const auto stages = pipeline_stages(config.recipe, 16);
  REQUIRE(stages.size() == 4);
  for (const PipelineStage& stage : stages) {
    REQUIRE(stage.chunks.size() == 2);
    CHECK(stage.layers == 4);
    for (std::int64_t c = 0; c < 2; ++c) {
      const PipelineChunk& chunk = stage.chunks[static_cast<std::size_t>(c)];
      CHECK(chunk.layers == 2);
      CHECK(chunk.first_layer == 2 * (4 * c + stage.index));
      CHECK(chunk.first == (c == 0 && stage.index == 0));
      CHECK(chunk.last == (c == 1 && stage.index == 3));
    }
  }
}

TEST_CASE("pipeline: what stages of a schedule differ by is what their micro-batches keep") {
  // Middle stages of four, 4 layers each; a received input, 2 sbh, is part of what its first layer keeps.
  const auto difference = [](PipelineSchedule schedule) {
    const Config config = pipelined_gpt(schedule, 4, 16);
    return highest_peak(config, {.fold = true, .stage = 1}) - highest_peak(config, {.fold = true, .stage = 2});
  };
  CHECK(difference(PipelineSchedule::one_forward_one_backward) == 4 * layer_keeps);
  CHECK(difference(PipelineSchedule::interleaved) == 2 * 2 * layer_keeps);  // two chunks of 2 layers
  CHECK(difference(PipelineSchedule::gpipe) == 0);
  const auto more = [](std::int64_t few, std::int64_t many) {
    return highest_peak(pipelined_gpt(PipelineSchedule::gpipe, 4, many), {.fold = true, .stage = 1}) -
           highest_peak(pipelined_gpt(PipelineSchedule::gpipe, 4, few), {.fold = true, .stage = 1});
  };
  CHECK(more(5, 9) == 4 * 4 * layer_keeps);
}

// Qi et al. 2023 (arXiv:2401.10241), table 1: weight gradients need 32 sbh a layer.
TEST_CASE("pipeline: a zero-bubble stage keeps 32 sbh a layer for each weight gradient that is to come") {
  const Config config = pipelined_gpt(PipelineSchedule::zero_bubble, 3, 1);
  CHECK(turns(config.recipe, 1) == "F0 I0 W0 ");
  const Config middle = [&] {
    Config c = config;
    c.model.num_hidden_layers = 12;
    return c;
  }();
  const auto phases = fold(run_megatron(middle, {.steps = 1, .fold = false, .stage = 1}));
  std::vector<Bytes> ends;
  for (const FoldedPhase& phase : phases)
    if (phase.phase == Phase::backward) ends.push_back(phase.end.total);
  REQUIRE(ends.size() == 2);
  // The end of the schedule lets go of three more tensors of 2 sbh: an input, and a gradient received and one sent.
  CHECK(ends[0] - ends[1] == 4 * 32 * sbh + 3 * 2 * sbh);
}

TEST_CASE("pipeline: zero-bubble weight gradients come i micro-batches late on stage i") {
  const Config config = pipelined_gpt(PipelineSchedule::zero_bubble, 3, 4);
  CHECK(turns(config.recipe, 0) == "F0 F0 F0 B0 F0 B0 B0 B0 ");
  CHECK(turns(config.recipe, 1) == "F0 F0 I0 F0 B0 F0 I0 W0 I0 W0 W0 ");
  CHECK(turns(config.recipe, 2) == "F0 I0 F0 I0 F0 B0 F0 I0 W0 W0 W0 ");
}

TEST_CASE("pipeline: the folded tape has the peaks of the recorded one under every schedule") {
  const auto schedule = GENERATE(PipelineSchedule::gpipe, PipelineSchedule::one_forward_one_backward,
                                 PipelineSchedule::interleaved, PipelineSchedule::zero_bubble);
  const auto micro_batches = GENERATE(4, 8, 12);
  const auto recomputation = GENERATE(Recomputation::none, Recomputation::full);
  Config config = pipelined_gpt(schedule, 4, micro_batches);
  config.recipe.recomputation = recomputation;
  config.recipe.tensor_parallel = 2;
  config.recipe.sequence_parallel = true;
  if (schedule != PipelineSchedule::interleaved) config.model.num_hidden_layers = 24;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    CAPTURE(static_cast<int>(schedule), stage, micro_batches, static_cast<int>(recomputation));
    CHECK(highest_peak(config, {.fold = true, .stage = stage}) ==
          highest_peak(config, {.fold = false, .stage = stage}));
  }
}

TEST_CASE("pipeline: an answer has every stage's own peak under every schedule") {
  const auto schedule = GENERATE(PipelineSchedule::gpipe, PipelineSchedule::interleaved, PipelineSchedule::zero_bubble);
  Config config = pipelined_gpt(schedule, 8, 16);
  const Result result = estimate(config);
  REQUIRE(result.stages.size() == 8);
  Bytes highest = 0;
  for (const Stage& stage : result.stages) {
    CAPTURE(stage.index, static_cast<int>(schedule));
    CHECK(stage.allocated == highest_peak(config, {.fold = true, .stage = stage.index}));
    highest = std::max(highest, stage.allocated);
  }
  CHECK(result.allocated == highest);
  CHECK(estimate_peak(config).allocated == highest);
}

TEST_CASE("pipeline: the fast peak is the worst stage's, however few stages there are") {
  const auto stages = GENERATE(1, 2, 3, 4, 5);
  Config config = pipelined_gpt(PipelineSchedule::one_forward_one_backward, stages, 16);
  config.model.vocab_size = 1024;  // the first stage holds most
  config.model.num_hidden_layers = 4 * stages;
  const Result result = estimate(config);
  CAPTURE(stages);
  CHECK(result.stages[0].worst);
  CHECK(estimate_peak(config).allocated == result.allocated);
}

namespace {

/// Llama of 14 layers under torchtitan: with embedding and head 16, four a stage.
Config pipelined_llama(PipelineSchedule schedule, std::int64_t stages, std::int64_t micro_batches) {
  Config config;
  config.gpu.architecture = GpuArchitecture::hopper;
  config.model = small_llama(14);
  Recipe& recipe = config.recipe;
  recipe.framework = Framework::torchtitan;
  recipe.torchtitan_release = TorchtitanRelease::before_0_2_2;
  recipe.precision = Precision::fsdp_bf16;
  recipe.data_parallel = DataParallel::fsdp;
  recipe.data_parallel_size = 4;
  recipe.fused_norm = true;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  recipe.sequence_length = 1024;
  recipe.pipeline_parallel = stages;
  recipe.pipeline_schedule = schedule;
  recipe.gradient_accumulation_steps = micro_batches;
  if (schedule == PipelineSchedule::interleaved) recipe.virtual_pipeline_stages = 2;
  return config;
}

}  // namespace

// torchtitan distributed/pipeline_parallel.py, _generate_llm_fqn_per_model_part: embedding and head count as a layer.
TEST_CASE("pipeline: torchtitan shares out layers with embedding and head") {
  Recipe recipe;
  recipe.framework = Framework::torchtitan;
  recipe.pipeline_parallel = 4;
  const auto layers = [&](std::int64_t total) {
    std::vector<std::int64_t> result;
    for (const PipelineStage& stage : pipeline_stages(recipe, total)) result.push_back(stage.layers);
    return result;
  };
  CHECK(layers(14) == std::vector<std::int64_t>{3, 4, 4, 3});
  CHECK(layers(32) == std::vector<std::int64_t>{8, 9, 8, 7});
}

TEST_CASE("pipeline: torchtitan's folded stages have the peaks of the recorded ones") {
  const auto schedule = GENERATE(PipelineSchedule::gpipe, PipelineSchedule::one_forward_one_backward,
                                 PipelineSchedule::interleaved, PipelineSchedule::zero_bubble);
  Config config = pipelined_llama(schedule, 2, GENERATE(2, 6, 12));
  config.model.num_hidden_layers = 18;
  for (const std::int64_t stage : {0, 1}) {
    CAPTURE(static_cast<int>(schedule), stage, config.recipe.gradient_accumulation_steps);
    CHECK(highest_peak(config, {.fold = true, .stage = stage}) ==
          highest_peak(config, {.fold = false, .stage = stage}));
  }
}

// pytorch stage.py: buffers for every micro-batch of input and of output gradient, the gradients of inputs until the
// next step; _fsdp_param.py: weights gathered in bf16 and their gradients added up in fp32, whole.
TEST_CASE("pipeline: a torchtitan stage holds three hidden states a micro-batch, and 2 + 4 bytes a parameter whole") {
  const auto alive = [](std::int64_t micro_batches) {
    const Config config = pipelined_llama(PipelineSchedule::one_forward_one_backward, 4, micro_batches);
    ComponentBytes result{};
    for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2, .fold = true, .stage = 1})))
      if (phase.phase == Phase::backward && phase.step == 2) result = phase.peak.components;
    return result;
  };
  const auto at = [](const ComponentBytes& components, Component component) { return components[component]; };
  const Bytes hidden_states = 2 * 1024 * 1024;
  CHECK(at(alive(24), Component::communication) - at(alive(16), Component::communication) == 8 * 3 * hidden_states);
  const std::int64_t parameters = 4 * (4 * 1024 * 1024 + 3 * 1024 * 2816 + 2 * 1024);
  CHECK(at(alive(16), Component::gathered_parameters) == 2 * parameters);
}
