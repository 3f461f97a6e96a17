// DeepSpeed's 16-bit optimizers without ZeRO.
#include <algorithm>

#include "engine/config/values.h"
#include "engine/tape/fold.h"
#include "engine/training/step.h"
#include "tests/catch.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

Config llama(Precision precision, std::int64_t gpus) {
  Config config;
  config.gpu.architecture = GpuArchitecture::ampere;
  config.model = small_llama(8);
  config.recipe = default_recipe(Framework::deepspeed);
  config.recipe.precision = precision;
  config.recipe.sequence_length = 128;
  config.recipe.data_parallel_size = gpus;
  return config;
}

/// Bytes of a component at the end of the last step, and the highest of its optimizer's phase.
struct Held {
  Bytes end = 0;
  Bytes highest = 0;
};

Held held(const Config& config, Component component) {
  Held result;
  for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2}))) {
    result.end = phase.end.components[component];
    if (phase.phase == Phase::optimizer_step && phase.step == 2)
      result.highest = std::max(result.highest, phase.peak.components[component]);
  }
  return result;
}

constexpr std::int64_t h = 1024;
constexpr Bytes rotary = 2 * 32 * 4;  // inverse frequencies, twice
constexpr std::int64_t n = 8 * (4 * h * h + 3 * h * 2816 + 2 * h) + 2 * 32000 * h + h;

}  // namespace

// bf16_optimizer.py: bf16 weights 2, bf16 gradients 2, fp32 gradients 4, master weights and two states 12 over d GPUs.
TEST_CASE("DeepSpeed without ZeRO in bf16: 8 + 12 / d bytes a parameter") {
  const std::int64_t gpus = GENERATE(1, 4);
  const Config config = llama(Precision::bf16_mixed, gpus);
  const std::int64_t padded = (n + 2 * gpus - 1) / (2 * gpus) * (2 * gpus);
  CHECK(held(config, Component::weights).end == 2 * padded + rotary);
  CHECK(held(config, Component::gradients).end == 2 * n + 4 * padded);
  CHECK(held(config, Component::master_weights).end == 4 * padded / gpus);
  CHECK(held(config, Component::optimizer_states).end >= 8 * padded / gpus);
  CHECK(held(config, Component::optimizer_states).end <= 8 * padded / gpus + 8);
}

// fp16/fused_optimizer.py: fp16 weights 2, master weights and states 12; in the step fp32 gradients twice.
TEST_CASE("DeepSpeed without ZeRO in fp16: 14 bytes a parameter, and 10 more in the step") {
  const Config config = llama(Precision::fp16_mixed, 4);
  CHECK(held(config, Component::weights).end == 2 * n + rotary);
  CHECK(held(config, Component::gradients).end == 0);
  CHECK(held(config, Component::gradients).highest == (2 + 4) * n);
  CHECK(held(config, Component::optimizer_temporaries).highest >= 4 * n);
  CHECK(held(config, Component::master_weights).end == 4 * n);
}
