// Mixture of experts, latent attention and multi-token prediction: what can be said without a recorded step.
// Recorded steps: tests/traces/experts.json; published runs: tests/measured/megatron_b200_experts_test.cpp.
#include <algorithm>

#include "engine/config/values.h"
#include "engine/estimate.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/tape/fold.h"
#include "engine/training/megatron.h"
#include "engine/training/megatron_optimizer.h"
#include "engine/training/step.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"

using namespace trainmem;

namespace {

Config preset(const char* model, Framework framework) {
  Config config;
  Issues issues;
  apply_model_preset(model, config, issues);
  apply_gpu_preset("h100-sxm", config, issues);
  REQUIRE(issues.empty());
  config.recipe = default_recipe(framework, TorchtitanRelease::before_0_2_2);
  return config;
}

Bytes allocated(const Config& config) {
  const Issues issues = validate(config);
  for (const Issue& issue : issues) UNSCOPED_INFO(issue.path << " " << issue.message);
  REQUIRE(issues.empty());
  return estimate(config).allocated;
}

}  // namespace

TEST_CASE("Megatron's stages hold the published parameters of DeepSeek-V3 and the layer that predicts a second token") {
  const Config config = preset("deepseek-v3", Framework::megatron);
  // 671,026,419,200 with the correction of the 58 routers (256 numbers each), which are buffers under Megatron.
  const std::int64_t published = 671026419200 - 58 * 256;
  const std::int64_t next_token = count(next_token_layer_parameters(config.model)) - 256;
  CHECK(megatron_parameters(config, 0) == published + next_token);
}

// megatron/core/transformer/multi_latent_attention.py: MultiLatentAttention makes its rotary embedding, whatever
// --position-embedding-type is; megatron/core/models/gpt/gpt_model.py makes none beside it.
TEST_CASE("Megatron's latent attention turns its heads, whatever the positions of the model") {
  Config config = preset("moonlight-16b-a3b", Framework::megatron);
  const bool fused = GENERATE(true, false);
  config.recipe.fused_rope = fused;
  const Bytes rotary = allocated(config);
  config.model.positions = Positions::none;
  CHECK(allocated(config) == rotary);
}

TEST_CASE("Expert parallelism divides the routed experts and nothing else") {
  Config config = preset("mixtral-8x7b", Framework::megatron);
  config.recipe.data_parallel_size = 8;
  const std::int64_t whole = megatron_parameters(config, 0);
  const std::int64_t routed = 32LL * 8 * 3 * 4096 * 14336;  // layers, experts, matrices
  for (const std::int64_t ranks : {2, 4, 8}) {
    config.recipe.expert_parallel = ranks;
    CHECK(megatron_parameters(config, 0) == whole - routed + routed / ranks);
    CHECK(expert_data_parallel(config.recipe) == 8 / ranks);
  }
  config.recipe.expert_parallel = 4;
  config.recipe.expert_tensor_parallel = 2;
  CHECK(megatron_parameters(config, 0) == whole - routed + routed / 8);
  CHECK(expert_data_parallel(config.recipe) == 1);
}

TEST_CASE("A rank that receives twice the mean of the tokens needs more memory, and one that exchanges none does not") {
  Config config = preset("mixtral-8x7b", Framework::megatron);
  config.recipe.data_parallel_size = 8;
  config.recipe.expert_imbalance = 2.0;
  const Bytes alone = allocated(config);
  config.recipe.expert_imbalance = 1.0;
  CHECK(allocated(config) == alone);
  config.recipe.expert_parallel = 8;
  const Bytes balanced = allocated(config);
  config.recipe.expert_imbalance = 2.0;
  CHECK(allocated(config) > balanced);
}

TEST_CASE("Experts that do not fit the GPUs of a stage are refused") {
  Config config = preset("mixtral-8x7b", Framework::megatron);
  config.recipe.data_parallel_size = 4;
  config.recipe.expert_parallel = 8;
  const Issues issues = validate(config);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].path == "/recipe/expert_parallel");
}

TEST_CASE("transformers leaves out the layers that predict further tokens, Megatron trains them") {
  Config config = preset("deepseek-v3", Framework::transformers);
  const Bytes with = allocated(config);
  config.model.num_nextn_predict_layers = 0;
  CHECK(allocated(config) == with);

  config = preset("deepseek-v3", Framework::megatron);
  const Bytes trained = allocated(config);
  config.model.num_nextn_predict_layers = 0;
  CHECK(allocated(config) < trained);
}

TEST_CASE("Megatron: a layer that stands for several gives the peaks of all of them, with leading dense ones") {
  for (const char* model : {"deepseek-v2-lite", "qwen3-30b-a3b", "deepseek-v3"}) {
    Config config = preset(model, Framework::megatron);
    config.model.num_hidden_layers = 12;
    config.recipe.sequence_length = 512;
    config.recipe.data_parallel_size = 8;
    config.recipe.expert_parallel = 4;
    for (const Recomputation recomputation : {Recomputation::none, Recomputation::full}) {
      config.recipe.recomputation = recomputation;
      CAPTURE(model, static_cast<int>(recomputation));
      CHECK(highest_peak(config, {.fold = true}) == highest_peak(config, {.fold = false}));
    }
  }
}

TEST_CASE("torchtitan has DeepSeek's block, and does not let its Llama stand in for other experts") {
  for (const char* model : {"mixtral-8x7b", "qwen2-57b-a14b"}) {
    const Issues issues = validate(preset(model, Framework::torchtitan));
    CAPTURE(model);
    REQUIRE_FALSE(issues.empty());
    CHECK(issues[0].code == "not_yet_modelled");
  }
  Config config = preset("deepseek-v2-lite", Framework::torchtitan);
  config.recipe.recomputation = Recomputation::none;
  config.recipe.precision = Precision::bf16;
  config.recipe.sequence_length = 512;
  const auto folded = fold(run_training(config, {.steps = 2, .fold = true}));
  const auto full = fold(run_training(config, {.steps = 2, .fold = false}));
  REQUIRE(folded.size() == full.size());
  for (std::size_t i = 0; i < full.size(); ++i) CHECK(folded[i].peak.total == full[i].peak.total);
  // 16 bits a parameter, the table of rotary positions, and two fp32 numbers for each expert of the 26 layers with any.
  const Bytes table = config.model.max_position_embeddings * config.model.latent_attention.qk_rope_head_dim * 4;
  CHECK(full[0].end.total == 2 * parameter_count(config.model) + table + 26 * 64 * 2 * 4);
}

namespace {

/// DeepSeek-V2-Lite under torchtitan's FSDP2 on eight GPUs.
Config torchtitan_experts(std::int64_t expert_parallel) {
  Config config = preset("deepseek-v2-lite", Framework::torchtitan);
  config.recipe.data_parallel_size = 8;
  config.recipe.expert_parallel = expert_parallel;
  config.recipe.sequence_length = 4096;
  return config;
}

/// Alive at the end of the second step's forward, and most of each component in its backward.
struct Moments {
  ComponentBytes after_forward{};
  ComponentBytes backward{};
};
Moments moments(const Config& config) {
  REQUIRE(validate(config).empty());
  Moments result;
  for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2, .fold = true}))) {
    if (phase.step != 2) continue;
    if (phase.phase == Phase::loss) result.after_forward = phase.end.components;
    if (phase.phase == Phase::backward) result.backward = phase.peak.components;
  }
  return result;
}

Bytes of(const ComponentBytes& components, Component component) { return components[component]; }

}  // namespace

// Rajbhandari et al. 2019 (arXiv:1910.02054), section 5.3: all states divide by the ranks, however experts are dealt
// out: 15,706,484,224 published parameters of DeepSeek-V2-Lite, two fp32 moments of each.
TEST_CASE("torchtitan's expert parallelism leaves every GPU as large a share of the states") {
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    const Bytes states = of(moments(torchtitan_experts(ranks)).after_forward, Component::optimizer_states);
    CAPTURE(ranks);
    CHECK(states >= 15706484224);
    CHECK(states < 15706484224 + 4096);  // fused AdamW's step counters
  }
}

// 30,532,122,624 parameters of Qwen3-30B-A3B, as KerasHub publishes them.
TEST_CASE("torchtitan divides the experts of Qwen 3, too") {
  for (const std::int64_t ranks : {1, 8}) {
    Config config = preset("qwen3-30b-a3b", Framework::torchtitan);
    config.recipe.data_parallel_size = 8;
    config.recipe.expert_parallel = ranks;
    const Bytes states = of(moments(config).after_forward, Component::optimizer_states);
    CAPTURE(ranks);
    CHECK(states >= 30532122624);
    CHECK(states < 30532122624 + 4096);
  }
}

// torchtitan models/common/token_dispatcher.py: what backward needs of dispatch and combine beside what one GPU keeps
// is one index of each received token copy (int64). The ends of the local experts alone are kept (int32).
TEST_CASE("torchtitan's all-to-all keeps one index of eight bytes for every token copy that a GPU receives") {
  const Bytes alone = of(moments(torchtitan_experts(1)).after_forward, Component::activations);
  Config config = torchtitan_experts(4);
  const Bytes copies = 4096 * 6;
  const Bytes layers = 26;
  const Bytes ends = 4 * (64 - 16);
  CHECK(of(moments(config).after_forward, Component::activations) - alone == layers * (8 * copies - ends));
  // The busiest GPU receives a quarter more: tokens, gate, up, both factors' product, and the indices.
  config.recipe.expert_imbalance = 1.25;
  const Bytes of_copy = 8 + 2 * 2048 + 2 * 4 * 1408;
  CHECK(of(moments(config).after_forward, Component::activations) - alone ==
        layers * (8 * copies - ends + copies / 4 * of_copy));
}

// torchtitan distributed/fsdp.py, apply_fsdp_to_decoder: with as many ranks as GPUs experts are not gathered at all.
TEST_CASE("torchtitan gathers 1 / ranks of the experts of two layers in backward") {
  const auto gathered = [](std::int64_t ranks) {
    Config config = torchtitan_experts(ranks);
    config.model.vocab_size = 1024;  // the peak is in a layer
    return of(moments(config).backward, Component::gathered_parameters);
  };
  const Bytes experts = 2LL * 64 * 3 * 1408 * 2048;  // of a layer, in bf16
  // The whole weights of one layer and the gather of the next; the only shard of eight ranks is not gathered ahead.
  CHECK(gathered(2) - gathered(4) == 2 * experts / 4);
  CHECK(gathered(4) - gathered(8) == 2 * experts / 4 - experts / 8);
}

namespace {

/// Of a pipeline stage: its highest moment, and the optimizer states at the end.
struct StageMoments {
  Bytes peak = 0;
  Bytes states = 0;
};
StageMoments stage_moments(const Config& config, std::int64_t stage, bool folded) {
  StageMoments result;
  for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2, .fold = folded, .stage = stage}))) {
    result.peak = std::max(result.peak, phase.peak.total);
    result.states = of(phase.end.components, Component::optimizer_states);
  }
  return result;
}

Config torchtitan_pipeline_of_experts(PipelineSchedule schedule) {
  Config config = torchtitan_experts(4);
  config.recipe.pipeline_parallel = 2;
  config.recipe.pipeline_schedule = schedule;
  config.recipe.gradient_accumulation_steps = 4;
  if (schedule == PipelineSchedule::interleaved) config.recipe.virtual_pipeline_stages = 2;
  return config;
}

}  // namespace

TEST_CASE("A torchtitan pipeline's folded stages have the peaks of the recorded ones, whichever layers are dense") {
  const auto schedule = GENERATE(PipelineSchedule::gpipe, PipelineSchedule::one_forward_one_backward,
                                 PipelineSchedule::interleaved, PipelineSchedule::zero_bubble);
  Config config = torchtitan_pipeline_of_experts(schedule);
  config.recipe.sequence_length = 512;
  config.model.experts.first_k_dense_replace = GENERATE(0, 1, 15);  // the last: beyond the first stage
  if (schedule == PipelineSchedule::interleaved) config.model.num_hidden_layers = 26;
  const Issues issues = validate(config);
  for (const Issue& issue : issues) UNSCOPED_INFO(issue.path << " " << issue.message);
  REQUIRE(issues.empty());
  for (const std::int64_t stage : {0, 1}) {
    CAPTURE(static_cast<int>(schedule), stage, config.model.experts.first_k_dense_replace);
    CHECK(stage_moments(config, stage, true).peak == stage_moments(config, stage, false).peak);
  }
}

// torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py: foreach_reduce puts the chunks of a gradient, here of the
// one that micro-batches were added to in fp32, in the order of its shards where these divide another dimension.
TEST_CASE("torchtitan: more shards than experts divide their width, under a pipeline, too") {
  Config config = preset("deepseek-v2-lite", Framework::torchtitan);
  config.recipe.data_parallel_size = 128;
  config.recipe.pipeline_parallel = 3;
  config.recipe.gradient_accumulation_steps = 4;
  REQUIRE(validate(config).empty());
  const Recording tape = run_training(config, {.fold = true, .stage = 1});
  const auto copies = std::count_if(tape.storages.begin(), tape.storages.end(), [](const StorageRecord& s) {
    return s.made_by->name == std::string("tensor in the order of its shards") && s.dtype == DType::float32 &&
           s.bytes == 64LL * 1408 * 2048 * 4;  // all experts of one of the three matrices
  });
  CHECK(copies > 0);
}

TEST_CASE("The stages of a torchtitan pipeline hold the states of all 15,706,484,224 parameters between them") {
  const Config config = torchtitan_pipeline_of_experts(PipelineSchedule::one_forward_one_backward);
  const Bytes states = stage_moments(config, 0, true).states + stage_moments(config, 1, true).states;
  CHECK(states >= 15706484224);  // two fp32 moments of an eighth of them
  CHECK(states < 15706484224 + 4096);
}

// torchtitan distributed/parallel_dims.py: GPUs that share a sequence share the shards, and each routes its own tokens.
TEST_CASE("GPUs that share a sequence under torchtitan route their own tokens and share the experts' shards") {
  const auto kept = [](std::int64_t gpus, std::int64_t width) {
    Config config = preset("qwen3-30b-a3b", Framework::torchtitan);
    config.model.experts.moe_intermediate_size = width;
    config.recipe.expert_parallel = 8;
    config.recipe.data_parallel_size = 8 / gpus;
    config.recipe.context_parallel = gpus;
    config.recipe.sequence_length = 2048 * gpus;
    return moments(config).after_forward;
  };
  for (const Component component : {Component::activations, Component::weights, Component::optimizer_states}) {
    const Bytes alone = of(kept(1, 768), component) - of(kept(1, 384), component);
    CHECK(alone > 0);
    CHECK(of(kept(2, 768), component) - of(kept(2, 384), component) == alone);
    CHECK(of(kept(4, 768), component) - of(kept(4, 384), component) == alone);
  }
}

// peft 0.20 utils/transformers_weight_conversion.py, _convert_peft_config_moe: gate and up are one stack with twice the
// rank; every expert has the rank. A.X K1's type has no line in transformers' conversion_mapping.py.
TEST_CASE("gate, up and down mean the stacked weights of experts, where peft adapts them") {
  Config config = preset("qwen3-30b-a3b", Framework::transformers);
  config.recipe.lora.rank = 16;
  const Model& m = config.model;
  const std::int64_t experts = m.experts.num_experts;
  const std::int64_t i = m.experts.moe_intermediate_size;
  const auto trained = [&](const char* targets) {
    config.recipe.lora.targets = targets;
    CHECK(validate(config).empty());
    return estimate(config).trainable_parameters / m.num_hidden_layers;
  };
  const std::int64_t attention = trained("q,k,v,o");
  CHECK(trained("q,k,v,o,gate,up") - attention == 2 * 16 * experts * (m.hidden_size + 2 * i));
  CHECK(trained("q,k,v,o,down") - attention == 16 * experts * (m.hidden_size + i));

  const auto issue_at = [&](const char* path) {
    const Issues found = validate(config);
    REQUIRE(found.size() == 1);
    CHECK(found[0].path == path);
    CHECK(found[0].message.find("experts") != std::string::npos);
  };
  config.recipe.lora.targets = "gate,down";
  issue_at("/recipe/lora/targets");
  config.recipe.lora.targets = "q,down";
  config.recipe.lora.dropout = 0.1;
  issue_at("/recipe/lora/dropout");
  config.recipe.lora.dropout = 0;
  config.recipe.quantization = Quantization::nf4;
  CHECK(validate(config).empty());  // bitsandbytes leaves the stacks alone
  config.recipe.quantization = Quantization::none;
  config.recipe.data_parallel_size = 2;
  CHECK(validate(config).empty());
  config.recipe.data_parallel = DataParallel::fsdp;
  CHECK(validate(config).empty());
  config.recipe.fsdp_version = 1;
  issue_at("/recipe/lora/targets");
  config.model.model_type = "axk1";
  for (const Issue& issue : validate(config)) CHECK(issue.path != "/recipe/lora/targets");
}
