// What host memory holds, this GPU does not.
#include <algorithm>
#include <vector>

#include "engine/tape/fold.h"
#include "engine/training/step.h"
#include "tests/catch.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

Config llama(Framework framework, DataParallel data_parallel) {
  Config config;
  config.gpu.architecture = GpuArchitecture::ampere;
  config.model = small_llama(8);
  if (framework == Framework::megatron) config.recipe = megatron_recipe();
  Recipe& recipe = config.recipe;
  recipe.framework = framework;
  if (framework == Framework::torchtitan) recipe.torchtitan_release = TorchtitanRelease::before_0_2_2;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  recipe.sequence_length = 1024;
  recipe.precision = Precision::bf16_mixed;
  recipe.data_parallel = data_parallel;
  recipe.data_parallel_size = 4;
  recipe.distributed_optimizer = framework == Framework::megatron;
  return config;
}

std::vector<FoldedPhase> phases_of(const Config& config, bool folded = true) {
  return fold(run_training(config, {.steps = 2, .fold = folded}));
}

/// The highest of a component in the optimizer's phase of the last step.
Bytes in_step(const Config& config, Component component) {
  Bytes highest = 0;
  for (const FoldedPhase& phase : phases_of(config))
    if (phase.phase == Phase::optimizer_step && phase.step == 2)
      highest = std::max(highest, phase.peak.components[component]);
  return highest;
}

Bytes peak(const Config& config, bool folded = true) {
  Bytes highest = 0;
  for (const FoldedPhase& phase : phases_of(config, folded)) highest = std::max(highest, phase.peak.total);
  return highest;
}

constexpr std::int64_t h = 1024;
constexpr std::int64_t parameters = 8 * (4 * h * h + 3 * h * 2816 + 2 * h) + 2 * 32000 * h + h;

}  // namespace

// Megatron-LM core/optimizer/cpu_offloading/hybrid_optimizer.py: main weights and states of the share are on the CPU.
TEST_CASE("offload: Megatron's hybrid optimizer keeps 12 (1 - f) / d bytes a parameter here") {
  Config config = llama(Framework::megatron, DataParallel::ddp);
  const auto held = [&] {
    return in_step(config, Component::optimizer_states) + in_step(config, Component::master_weights);
  };
  const std::int64_t share = parameters / 4;
  const Bytes all = held();
  CHECK(all >= 12 * share);
  CHECK(all <= 12 * (share + 128));
  config.recipe.offload_optimizer = true;
  CHECK(held() == 0);
  config.recipe.offload_optimizer_fraction = 0.5;
  CHECK(std::abs(held() - all / 2) <= 12);
}

// ZeRO-Offload (Ren et al. 2021, arXiv:2101.06840): 16-bit weights stay, gradients of the part and 12 bytes a weight of
// it go.
TEST_CASE("offload: ZeRO-1, 2 and 3 hold no main weights and no states here") {
  Config config = llama(Framework::deepspeed, GENERATE(DataParallel::zero1, DataParallel::zero2, DataParallel::zero3));
  CHECK(in_step(config, Component::master_weights) >= 4 * (parameters / 4));
  CHECK(in_step(config, Component::optimizer_states) >= 8 * (parameters / 4));
  const Bytes before = peak(config);
  config.recipe.offload_optimizer = true;
  CHECK(in_step(config, Component::master_weights) == 0);
  CHECK(in_step(config, Component::optimizer_states) == 0);
  CHECK(in_step(config, Component::gradients) == 0);
  CHECK(peak(config) < before);
}

TEST_CASE("offload: ZeRO-3's weight parts go to host memory, 2 bytes a weight of the part") {
  Config config = llama(Framework::deepspeed, DataParallel::zero3);
  const Bytes parts = in_step(config, Component::weights);
  CHECK(parts >= 2 * (parameters / 4));
  config.recipe.offload_parameters = true;
  config.recipe.offload_optimizer = true;
  CHECK(in_step(config, Component::weights) == 2 * 32 * 4);  // inverse frequencies of rotary positions, twice
}

// FSDP2's CPUOffloadPolicy: between the steps nothing of the model is on the GPU.
TEST_CASE("offload: FSDP2 leaves nothing of the model here between two steps") {
  Config config = llama(Framework::torchtitan, DataParallel::fsdp);
  config.recipe.precision = Precision::fsdp_bf16;
  config.recipe.fused_norm = true;
  config.recipe.offload_parameters = true;
  const Alive end = phases_of(config).back().end;
  for (const Component component : {Component::weights, Component::gradients, Component::optimizer_states,
                                    Component::gathered_parameters, Component::optimizer_temporaries}) {
    // Rotary frequencies, 4 bytes an element of 2048 positions, are a buffer that stays.
    const Bytes buffer = component == Component::weights ? 4 * 2048 * 64 : 0;
    CHECK(end.components[component] == buffer);
  }
  CHECK(peak(config, true) == peak(config, false));
}

// FSDP1's CPUOffload: flat_param.data is the host's shard between gathers (pytorch _flat_param.py,
// _use_sharded_flat_param); the reduced shards of gradients go when the backward has ended
// (prepare_gradient_for_optim).
TEST_CASE("offload: FSDP1 leaves neither weights nor gradients nor states here after backward") {
  Config config = llama(Framework::transformers, DataParallel::fsdp);
  config.recipe.fsdp_version = 1;
  config.recipe.fsdp_wrap_embeddings = false;
  config.recipe.precision = Precision::bf16;
  const auto at_end = [&](Phase phase) {
    ComponentBytes components{};
    for (const FoldedPhase& each : phases_of(config))
      if (each.phase == phase && each.step == 2) components = each.end.components;
    return components;
  };
  const auto of = [](const ComponentBytes& components, Component component) { return components[component]; };
  const Bytes shard = 2 * (parameters / 4);
  const Bytes here = of(at_end(Phase::backward), Component::gradients);
  CHECK(here >= shard);
  const Bytes weights = of(at_end(Phase::backward), Component::weights);
  const Bytes before = peak(config);
  config.recipe.offload_parameters = true;
  const ComponentBytes end = at_end(Phase::backward);
  CHECK(of(end, Component::gradients) == 0);
  CHECK(of(end, Component::optimizer_states) == 0);
  CHECK(of(end, Component::gathered_parameters) == 0);
  CHECK(weights - of(end, Component::weights) >= shard);
  CHECK(weights - of(end, Component::weights) < shard + 4096);
  CHECK(peak(config) < before);
  CHECK(peak(config, true) == peak(config, false));
}

TEST_CASE("offload: checkpoints in host memory leave one block's input here") {
  Config config = llama(Framework::transformers, DataParallel::ddp);
  config.recipe.data_parallel_size = 1;
  config.recipe.precision = Precision::bf16;
  config.recipe.recomputation = Recomputation::full;
  const auto activations = [&] {
    for (const FoldedPhase& phase : phases_of(config))
      if (phase.step == 2 && phase.phase == Phase::forward) return phase.end.components[Component::activations];
    return Bytes{0};
  };
  const Bytes kept = activations();
  config.recipe.offload_checkpoints = true;
  CHECK(kept - activations() == 8 * 2 * 1024 * h);  // eight inputs of 1,024 tokens
  CHECK(peak(config, true) == peak(config, false));
}
