// FSDP2 where its shards are one, or more than there are experts.
#include "engine/config/values.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/presets/presets.h"
#include "engine/tape/fold.h"
#include "engine/training/step.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

/// Alive at the end of the second step's forward.
ComponentBytes after_forward(const Config& config, bool folded = true) {
  REQUIRE(validate(config).empty());
  ComponentBytes components{};
  for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2, .fold = folded})))
    if (phase.step == 2 && phase.phase == Phase::forward) components = phase.end.components;
  return components;
}

Bytes of(const ComponentBytes& components, Component component) { return components[component]; }

}  // namespace

// torchtitan distributed/parallel_dims.py, _mesh_exist: the fsdp mesh is kept at degree 1 for its mixed precision. fp32
// weights and moments, and 16-bit copies while they are gathered: pytorch _fsdp_param_group.py, wait_for_unshard.
TEST_CASE("FSDP2 on one GPU holds 4 + 8 bytes a weight, and 2 more of those that stay gathered") {
  Config config;
  config.gpu.architecture = GpuArchitecture::hopper;
  config.model = small_llama(12);
  config.recipe = default_recipe(Framework::torchtitan, TorchtitanRelease::before_0_2_2);
  config.recipe.sequence_length = 1024;
  config.recipe.reshard_after_forward = Reshard::never;
  const std::int64_t weights = parameter_count(config.model);
  const ComponentBytes alive = after_forward(config);
  const Bytes frequencies = 4 * 2048 * 64;
  CHECK(of(alive, Component::weights) == 4 * weights + frequencies);
  CHECK(of(alive, Component::optimizer_states) - 8 * weights < 4096);
  CHECK(of(alive, Component::gathered_parameters) == 2 * weights);
  config.recipe.reshard_after_forward = Reshard::automatic;
  const Bytes block = 4 * 1024 * 1024 + 3 * 1024 * 2816 + 2 * 1024;
  const Bytes head = 1024 + 32000 * 1024;
  CHECK(of(after_forward(config), Component::gathered_parameters) == 2 * head);
  config.recipe.reshard_after_forward = Reshard::all_but_last;
  CHECK(of(after_forward(config), Component::gathered_parameters) == 2 * (block + head));
  config.recipe.reshard_after_forward = Reshard::automatic;
  CHECK(after_forward(config, true) == after_forward(config, false));
}

// torchtitan distributed/fsdp.py, apply_fsdp_to_decoder: Shard(1) "to avoid padding". 15,706,484,224 published
// parameters of DeepSeek-V2-Lite, whose 64 experts a layer are 14.4 billion of them.
TEST_CASE("more FSDP2 shards than experts divide their width, and pad nothing") {
  Config config;
  Issues issues;
  apply_model_preset("deepseek-v2-lite", config, issues);
  config.recipe = default_recipe(Framework::torchtitan, TorchtitanRelease::before_0_2_2);
  config.recipe.sequence_length = 1024;
  for (const std::int64_t shards : {64, 128}) {
    config.recipe.data_parallel_size = shards;
    const Bytes states = of(after_forward(config), Component::optimizer_states);
    CAPTURE(shards);
    CHECK(states >= 8 * (15706484224 / shards));
    CHECK(states < 8 * (15706484224 / shards) * 101 / 100);
  }
}

// _fsdp_state.py, _pre_forward: a block's input is cast to the format of its parameters, and a checkpoint's second
// forward must give what the first one gave. Models whose blocks pass fp32 on are among the presets.
TEST_CASE("FSDP2: every preset's blocks can be recomputed, and then keep no more than without it") {
  for (const PresetText& preset : model_presets()) {
    Config config;
    Issues issues;
    apply_recipe_preset("fsdp2-8-gpus", config, issues);
    apply_model_preset(preset.id, config, issues);
    REQUIRE(issues.empty());
    config.recipe.sequence_length = 64;
    if (!validate(config).empty()) continue;
    CAPTURE(preset.id);
    const Bytes recomputed = of(after_forward(config), Component::activations);
    config.recipe.recomputation = Recomputation::none;
    CHECK(recomputed <= of(after_forward(config), Component::activations));
  }
}

// accelerate accelerator.py, no_sync: set_requires_gradient_sync(False) before the last backward, so that
// _fsdp_param.py, to_accumulated_grad_if_needed, keeps whole gradients in the format of the reduction. torchtitan's
// train.py leaves them to be reduced after each backward, into shards.
TEST_CASE("FSDP2: between micro-batches accelerate holds whole gradients, torchtitan shards of them") {
  Config config;
  config.gpu.architecture = GpuArchitecture::hopper;
  config.model = small_llama(12);
  config.recipe = default_recipe(Framework::transformers);
  config.recipe.precision = Precision::fsdp_bf16;
  config.recipe.gradient_reduce_dtype = DType::float32;
  config.recipe.data_parallel = DataParallel::fsdp;
  config.recipe.data_parallel_size = 4;
  config.recipe.sequence_length = 256;
  config.recipe.gradient_accumulation_steps = 3;
  const std::int64_t weights = parameter_count(config.model);
  CHECK(of(after_forward(config), Component::gradients) == 4 * weights);
  CHECK(after_forward(config, true) == after_forward(config, false));
  config.recipe.fsdp_gradient_sync = GradientSync::each_micro_batch;
  CHECK(of(after_forward(config), Component::gradients) == 4 * weights / 4);
  config.recipe.fsdp_gradient_sync = GradientSync::automatic;
  config.recipe.framework = Framework::torchtitan;
  CHECK(of(after_forward(config), Component::gradients) == 4 * weights / 4);
  config.recipe.fsdp_gradient_sync = GradientSync::last_micro_batch;
  CHECK(of(after_forward(config), Component::gradients) == 4 * weights);
}
