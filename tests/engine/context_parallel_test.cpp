// GPUs that share a sequence hold their part of every activation; what attention exchanges comes on top.
#include "engine/tape/fold.h"
#include "engine/training/step.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"

using namespace trainmem;

namespace {

constexpr std::int64_t sequence = 2048;
constexpr std::int64_t hidden = 1024;

/// A small Llama; rotary positions make query and key tensors of their own.
Config llama(Framework framework) {
  Config config;
  config.gpu.architecture = GpuArchitecture::hopper;
  Model& model = config.model;
  model.hidden_size = hidden;
  model.intermediate_size = 2816;
  model.num_attention_heads = 16;
  model.num_key_value_heads = 8;
  model.head_dim = 64;
  model.num_hidden_layers = 16;
  model.vocab_size = 32000;
  model.max_position_embeddings = 4 * sequence;
  Recipe& recipe = config.recipe;
  recipe.framework = framework;
  if (framework == Framework::torchtitan) recipe.torchtitan_release = TorchtitanRelease::before_0_2_2;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  recipe.sequence_length = sequence;
  if (framework == Framework::megatron) {
    recipe.precision = Precision::bf16_mixed;
    recipe.attention = AttentionKernel::sdpa;
    recipe.loss = Loss::vocabulary_parallel;
    recipe.fused_norm = recipe.fused_mlp = recipe.fused_rope = true;
    recipe.pipeline_parallel = 4;
    recipe.gradient_accumulation_steps = 8;
  } else {
    recipe.precision = Precision::fsdp_bf16;
    recipe.data_parallel = DataParallel::fsdp;
    recipe.data_parallel_size = 4;
    recipe.fused_norm = true;
  }
  return config;
}

/// What a micro-batch keeps in the four layers of a stage: two middle stages differ by it.
Bytes kept(const Config& config) {
  return highest_peak(config, {.fold = true, .stage = 1}) - highest_peak(config, {.fold = true, .stage = 2});
}

Config shared(Config config, std::int64_t gpus, ContextParallelMethod method) {
  config.recipe.context_parallel = gpus;
  config.recipe.context_parallel_method = method;
  config.recipe.sequence_length = gpus * sequence;
  return config;
}

}  // namespace

TEST_CASE("context parallel: over c GPUs a sequence c times as long keeps as much, in ring and all-gather attention") {
  const Config alone = llama(Framework::megatron);
  const std::int64_t gpus = GENERATE(2, 4);
  CHECK(kept(shared(alone, gpus, ContextParallelMethod::ring)) == kept(alone));
  CHECK(kept(shared(alone, gpus, ContextParallelMethod::all_gather)) == kept(alone));
}

// TransformerEngine context_parallel.py, AttnFuncWithCPAndQKVOA2A: out_part is kept beside the exchanged output.
TEST_CASE("context parallel: an all-to-all of heads keeps the attention output twice") {
  const Config alone = llama(Framework::megatron);
  const Bytes output = 2 * sequence * hidden;
  CHECK(kept(shared(alone, 4, ContextParallelMethod::all_to_all)) == kept(alone) + 4 * output);
}

// The same; orig_o_shape: values of latent attention are narrower than its queries, and so is the output.
TEST_CASE("context parallel: latent attention's output has the width of its values") {
  Config alone = llama(Framework::megatron);
  Model& model = alone.model;
  model.model_type = "deepseek_v2";
  model.num_key_value_heads = 16;
  model.head_dim = 96;
  model.latent_attention = {256, 128, 64, 32, 64};
  CHECK(kept(shared(alone, 2, ContextParallelMethod::ring)) == kept(alone));
  CHECK(kept(shared(alone, 4, ContextParallelMethod::all_gather)) == kept(alone));
  const Bytes output = 2 * sequence * 16 * 64;
  CHECK(kept(shared(alone, 4, ContextParallelMethod::all_to_all)) == kept(alone) + 4 * output);
}

TEST_CASE("context parallel: the states of Megatron's distributed optimizer are divided over data x context GPUs") {
  const auto states = [](std::int64_t data, std::int64_t context) {
    Config config = llama(Framework::megatron);
    config.recipe.pipeline_parallel = 1;
    config.recipe.distributed_optimizer = true;
    config.recipe.data_parallel_size = data;
    config.recipe.context_parallel = context;
    const auto phases = fold(run_training(config, {.steps = 2, .fold = true}));
    const ComponentBytes& end = phases.back().end.components;
    return end[Component::optimizer_states] + end[Component::master_weights];
  };
  CHECK(states(2, 4) == states(8, 1));
  CHECK(states(4, 2) == states(8, 1));
}

TEST_CASE("context parallel: the folded tape has the peaks of the recorded one") {
  const auto framework = GENERATE(Framework::megatron, Framework::torchtitan);
  const auto method =
      GENERATE(ContextParallelMethod::ring, ContextParallelMethod::all_gather, ContextParallelMethod::all_to_all);
  if (framework == Framework::torchtitan && method == ContextParallelMethod::all_to_all) return;
  const auto recomputation = GENERATE(Recomputation::none, Recomputation::full);
  Config config = shared(llama(framework), 4, method);
  config.recipe.recomputation = recomputation;
  CAPTURE(static_cast<int>(framework), static_cast<int>(method), static_cast<int>(recomputation));
  CHECK(highest_peak(config, {.fold = true, .stage = 0}) == highest_peak(config, {.fold = false, .stage = 0}));
}

// torchtitan parallelize.py: attention has this GPU's heads, whatever it exchanges of their keys and values; what the
// layers gather is this GPU's part of the sequence.
TEST_CASE("context parallel: beside tensor parallelism over t GPUs it adds to a layer a t-th of what it adds alone") {
  const auto kept_by_layers = [](const Config& config) {
    Bytes kept = 0;
    for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2, .fold = true})))
      if (phase.phase == Phase::forward) kept = phase.end.components[Component::activations];
    return kept;
  };
  const auto of_a_layer = [&](Config config) {
    const Bytes kept = kept_by_layers(config);
    config.model.num_hidden_layers += 1;
    return kept_by_layers(config) - kept;
  };
  const std::int64_t gpus = GENERATE(2, 4);
  constexpr Bytes random_state = 24;  // kept by flash attention, not by the ring's calls of it
  const auto added = [&](const Config& alone) {
    return of_a_layer(shared(alone, gpus, ContextParallelMethod::ring)) - of_a_layer(alone) + random_state;
  };
  Config alone = llama(Framework::torchtitan);
  const Bytes whole = added(alone);
  alone.recipe.tensor_parallel = 4;
  alone.recipe.sequence_parallel = GENERATE(true, false);
  alone.recipe.loss = Loss::vocabulary_parallel;
  CHECK(added(alone) * 4 == whole);
  const Config pair = shared(alone, gpus, ContextParallelMethod::all_gather);
  CHECK(highest_peak(pair, {.fold = true, .stage = 0}) == highest_peak(pair, {.fold = false, .stage = 0}));
}

// pytorch _attention.py: keys and values of all GPUs are gathered, 2 x 2 bytes for each of 16 repeated heads.
TEST_CASE("context parallel: torchtitan's shards are those of data x context GPUs, and its layers keep their part") {
  Config alone = llama(Framework::torchtitan);
  alone.recipe.data_parallel_size = 8;
  Config pair = shared(alone, 2, ContextParallelMethod::all_gather);
  pair.recipe.data_parallel_size = 4;
  const auto end = [](const Config& config, Component component) {
    return fold(run_training(config, {.steps = 2, .fold = true})).back().end.components[component];
  };
  CHECK(end(pair, Component::optimizer_states) == end(alone, Component::optimizer_states));
  // The highest moment of a step differs by what attention exchanges, not by layers.
  const Bytes gathered = 2 * 2 * 2 * sequence * hidden;
  CHECK(highest_peak(pair) >= highest_peak(alone));
  CHECK(highest_peak(pair) <= highest_peak(alone) + 8 * gathered);
}
