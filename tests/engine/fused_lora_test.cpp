// Adapters fused with their layers: what they keep, by foundation-model-stack/fms-acceleration fast_lora.py.
#include "engine/estimate.h"
#include "engine/tape/fold.h"
#include "engine/training/step.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

constexpr Bytes h = 1024;
constexpr Bytes layers = 4;
constexpr Bytes rank = 16;
constexpr Bytes tokens = 512;

Config adapters(double dropout) {
  Config config;
  config.model = small_llama(layers);
  Recipe& recipe = config.recipe;
  recipe.precision = Precision::bf16;
  recipe.attention = AttentionKernel::flash;
  recipe.sequence_length = tokens;
  recipe.lora = {.rank = rank, .targets = "q,k,v,o", .dropout = dropout, .adapter_dtype = DType::bfloat16};
  return config;
}

Bytes after_forward(Config config, bool fused) {
  config.recipe.lora.fused = fused;
  for (const FoldedPhase& phase : fold(run_training(config, {.steps = 1, .fold = true})))
    if (phase.phase == Phase::forward) return phase.end.components[Component::activations];
  return 0;
}

std::string issues_of(Config config, const char* targets) {
  config.recipe.lora.targets = targets;
  config.recipe.lora.fused = true;
  std::string paths;
  for (const Issue& issue : validate(config)) paths += issue.code + " " + issue.path + "; ";
  return paths;
}

}  // namespace

TEST_CASE("fused LoRA: with dropout its results and the argument are kept, neither masks nor products of A") {
  // peft keeps for each of the four layers what dropout gave, its mask and A's product; the argument of query, key and
  // value, which frozen layers do not need, is kept by the fused operation. The first layer's argument wants no
  // gradient, so that peft's three masks of it go.
  const Bytes peft = 4 * (2 * h + h + 2 * rank);
  const Bytes fused = 2 * h + 4 * 2 * h;
  CHECK(after_forward(adapters(0.1), true) - after_forward(adapters(0.1), false) ==
        layers * tokens * (fused - peft) + 3 * tokens * h);
}

TEST_CASE("fused LoRA: without dropout the argument is all that is kept") {
  const Bytes products_of_a = 4 * 2 * rank;
  CHECK(after_forward(adapters(0), true) - after_forward(adapters(0), false) == -layers * tokens * products_of_a);
}

TEST_CASE("fused LoRA: of other models, frameworks and whole MLPs it is refused") {
  CHECK(issues_of(adapters(0), "q,k,v,o,gate,up") == "");
  CHECK(issues_of(adapters(0), "q,k,v,o,gate,up,down") == "not_yet_modelled /recipe/lora/fused; ");
  Config config = adapters(0);
  config.model.model_type = "qwen3";
  config.model.qk_norm = QkNorm::per_head;
  CHECK(issues_of(config, "q,v") == "not_yet_modelled /recipe/lora/fused; ");
  config = adapters(0);
  config.recipe.compile_blocks = true;
  CHECK(issues_of(config, "q,v") == "not_yet_modelled /recipe/compile_blocks; ");
}
