// What a compiled block keeps, held against recorded partitions: tests/traces/partitions/compiled_blocks.json.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/tape/fold.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/training/step.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"
#include "tests/small_models.h"
#include "tests/source_folder.h"
#include "tests/traces/compiled_layer.h"

using namespace trainmem;

namespace {

/// The configuration of a recorded block, or false if it is of another kind.
bool describe(const std::string& block, Config& config) {
  Model& model = config.model;
  Recipe& recipe = config.recipe;
  model.model_type = block.substr(0, block.find(' '));
  if (model.model_type == "torchtitan") {
    if (block.find("repeated key/value") == std::string::npos) return false;
    model.model_type = "llama";
    recipe.framework = Framework::torchtitan;
    recipe.torchtitan_release = TorchtitanRelease::before_0_2_2;
    recipe.fused_norm = block.find("module") != std::string::npos;
    return true;
  }
  if (model.model_type == "qwen2") model.attention_bias = true;
  if (model.model_type == "qwen3") model.qk_norm = QkNorm::per_head;
  if (model.model_type == "gemma") model.hidden_act = Activation::gelu_pytorch_tanh;
  return model.model_type == "llama" || model.model_type == "qwen2" || model.model_type == "qwen3" ||
         model.model_type == "gemma";
}

Config compiled(Framework framework) {
  Config config;
  config.model = small_llama(6);
  config.recipe.framework = framework;
  if (framework == Framework::torchtitan) config.recipe.torchtitan_release = TorchtitanRelease::before_0_2_2;
  config.recipe.precision = Precision::bf16;
  config.recipe.sequence_length = 1024;
  config.recipe.compile_blocks = true;
  return config;
}

}  // namespace

TEST_CASE("compiled blocks: Llama, Qwen 2 and 3, Gemma and torchtitan's Llama keep what was recorded, to the byte") {
  std::ifstream file(source_folder() + "/tests/traces/partitions/compiled_blocks.json");
  const auto recorded = nlohmann::json::parse(file);
  const auto& dims = recorded["dims"];
  int checked = 0;
  for (const auto& one : recorded["cases"]) {
    if (one["dtype"] != "bfloat16" || !one["compiled"].get<bool>()) continue;
    Config config;
    set_dimensions(dims, config.model);
    config.model.max_position_embeddings = 1024;
    config.recipe.precision = Precision::bf16;
    config.recipe.micro_batch_size = dims["b"].get<std::int64_t>();
    config.recipe.sequence_length = dims["s"].get<std::int64_t>();
    config.recipe.compile_blocks = true;
    const std::string block = one["block"];
    if (!describe(block, config)) continue;
    CAPTURE(block);
    // The recorded attention leaves out two numbers of its random state, 16 and 8 bytes.
    CHECK(kept_by_a_layer(config) - 24 == static_cast<Bytes>(one["bytes_per_layer"].get<double>()));
    ++checked;
  }
  CHECK(checked == 6);
}

// torchtitan saves every second product, but a compiled graph returns only what its backward needs: nothing needs the
// last product of a block, whose output is added to the residual stream.
TEST_CASE("compiled blocks: recomputation chosen by operations leaves out the block's last product") {
  Config config = compiled(Framework::torchtitan);
  config.recipe.recomputation = Recomputation::selective_operations;
  const Bytes compiled_bytes = kept_by_a_layer(config);
  config.recipe.compile_blocks = false;
  CHECK(kept_by_a_layer(config) - compiled_bytes == Bytes{2} * 1024 * 1024);
}

// AOTAutograd's backward returns all gradients of a block together; one by one they are stepped and let go as they
// come.
TEST_CASE("compiled blocks: a step inside backward finds all gradients of a block") {
  Config config = compiled(Framework::torchtune);
  config.recipe.sequence_length = 16;
  config.recipe.optimizer = Optimizer::sgd;
  config.recipe.optimizer_implementation = OptimizerImplementation::in_backward;
  const auto gradients = [&] {
    Bytes most = 0;
    for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2})))
      if (phase.step == 2 && phase.phase == Phase::backward) most = std::max(most, phase.peak.total - phase.end.total);
    return most;
  };
  const Bytes of_block = Bytes{2} * (4 * 1024 * 1024 + 3 * 1024 * 2816 + 2 * 1024);
  const Bytes of_head = Bytes{2} * 32000 * 1024;
  config.model.vocab_size = 1000;  // smaller than a block
  CHECK(gradients() >= of_block);
  CHECK(gradients() < of_block + of_head);
  config.recipe.compile_blocks = false;
  CHECK(gradients() < of_block);
}

TEST_CASE("compiled blocks: the folded tape has the peaks of the recorded one") {
  Config config = compiled(GENERATE(Framework::torchtune, Framework::torchtitan));
  config.recipe.recomputation = GENERATE(Recomputation::none, Recomputation::full, Recomputation::selective_operations);
  config.recipe.data_parallel = DataParallel::fsdp;
  config.recipe.data_parallel_size = GENERATE(1, 4);
  CHECK(highest_peak(config, {.fold = true}) == highest_peak(config, {.fold = false}));
}

// The upcast, the softmax and the choice of the label are one kernel, and so is their backward: 16-bit logits, 16-bit
// gradient, two fp32 numbers a token. Eager: fp32 logits, log-probabilities and two gradients.
TEST_CASE("compiled loss: backward makes one gradient in the format of the logits") {
  constexpr Bytes tokens = 2048;
  constexpr Bytes vocabulary = 32000;
  Recording tape;
  {
    Run run(tape);
    const ActivateRun active(run);
    run.begin_phase(0, Phase::forward, "forward");
    const Tensor logits = make_parameter({tokens, vocabulary}, DType::bfloat16, "logits");
    const Tensor labels = allocate_nothing({tokens}, DType::int64);
    const Tensor loss = compiled_cross_entropy(logits, labels);
    run.begin_phase(0, Phase::backward, "backward");
    run_backward(loss);
    run.closed = true;
  }
  const std::vector<FoldedPhase> phases = fold(tape);
  CHECK(phases[0].peak.total == tokens * vocabulary * 2 + 2 * tokens * 4 + 4);
  CHECK(phases[1].peak.total == 2 * tokens * vocabulary * 2 + 2 * tokens * 4 + 4 + 4);
}
