// What a compiled block keeps under autocast, with dropout and beside tensor parallelism, held against recorded
// partitions: traces/partitions/.
//
// Recorded with torch 2.6: the joint graph of AOTAutograd on tensors without data, inductor's decompositions and joint
// passes, min_cut_rematerialization_partition; transformers 5.3.
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/parallel/tensor.h"
#include "engine/parameters/parameters.h"
#include "engine/tape/fold.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"
#include "tests/small_models.h"
#include "tests/source_folder.h"
#include "tests/traces/compiled_layer.h"

using namespace trainmem;

namespace {

nlohmann::json recorded_partitions(const std::string& name) {
  std::ifstream file(source_folder() + "/tests/traces/partitions/" + name);
  return nlohmann::json::parse(file);
}

/// Activations and the 16-bit copies of weights that one layer more keeps; copies are weights beside the parameters.
Bytes kept_with_copies(Config config) {
  const Bytes kept = kept_by_a_layer(config, {Component::activations, Component::weights});
  config.model.num_hidden_layers = 4;
  const std::int64_t fewer = parameter_count(config.model);
  config.model.num_hidden_layers = 5;
  const Bytes weight_bytes = config.recipe.precision == Precision::bf16 ? 2 : 4;
  return kept - weight_bytes * (parameter_count(config.model) - fewer);
}

Model gpt2() {
  Model model = small_gpt(4);
  model.model_type = "gpt2";
  model.hidden_act = Activation::gelu_new;
  return model;
}

Config describe(const nlohmann::json& dims, const nlohmann::json& one) {
  Config config;
  const std::string block = one["block"];
  Model& model = config.model;
  if (block == "gpt2") {
    model = gpt2();
  } else {
    model.model_type = block;
    model.attention_bias = block == "qwen2";
    if (block == "qwen3") model.qk_norm = QkNorm::per_head;
    if (block == "gemma") model.hidden_act = Activation::gelu_pytorch_tanh;
  }
  set_dimensions(dims, model);
  if (block == "gpt2") model.num_key_value_heads = model.num_attention_heads;
  model.hidden_dropout = model.attention_dropout = model.embedding_dropout = one["dropout"].get<double>();
  Recipe& recipe = config.recipe;
  recipe.framework = Framework::transformers;
  recipe.precision = one["autocast"].is_null() ? Precision::bf16 : Precision::bf16_autocast;
  recipe.micro_batch_size = dims["b"].get<std::int64_t>();
  recipe.sequence_length = dims["s"].get<std::int64_t>();
  recipe.compile_blocks = true;
  return config;
}

}  // namespace

TEST_CASE("compiled blocks: under autocast and with dropout GPT-2, Llama, Qwen and Gemma keep what was recorded") {
  const nlohmann::json recorded = recorded_partitions("autocast.json");
  CHECK(recorded["cases"].size() == 8);
  for (const auto& one : recorded["cases"]) {
    const Config config = describe(recorded["dims"], one);
    CAPTURE(one["block"].get<std::string>(), one["autocast"].is_null(), one["dropout"].get<double>());
    // The recorded attention leaves out two numbers of its random state, 16 and 8 bytes.
    CHECK(kept_with_copies(config) - 24 == one["bytes_per_layer"].get<Bytes>());
  }
}

TEST_CASE("compiled blocks: beside tensor parallelism torchtitan's Llama keeps what was recorded") {
  const nlohmann::json recorded = recorded_partitions("tensor_parallel.json");
  CHECK(recorded["cases"].size() == 4);
  const nlohmann::json& dims = recorded["dims"];
  for (const auto& one : recorded["cases"]) {
    Config config;
    set_dimensions(dims, config.model);
    Recipe& recipe = config.recipe;
    recipe.framework = Framework::torchtitan;
    recipe.torchtitan_release = TorchtitanRelease::before_0_2_2;
    recipe.precision = Precision::bf16;
    recipe.micro_batch_size = one["batch"].get<std::int64_t>();
    recipe.sequence_length = dims["s"].get<std::int64_t>();
    recipe.tensor_parallel = one["tensor_parallel"].get<std::int64_t>();
    recipe.sequence_parallel = one["sequence_parallel"].get<bool>();
    recipe.compile_blocks = true;
    CAPTURE(recipe.micro_batch_size, recipe.sequence_parallel);
    CHECK(kept_by_a_layer(config) - 24 == one["bytes_per_layer"].get<Bytes>());
  }
}

// In the recorded backward one kernel adds up the gradients of query, key and value and puts the sum in order for the
// reduce-scatter: inductor inlines the additions into it, so that all three products and its result are there at once.
TEST_CASE("compiled blocks: gradients of column-wise layers meet in the kernel that orders them for the collective") {
  constexpr Bytes sequence = 256;
  constexpr Bytes hidden = 1024;
  constexpr Bytes narrow = 16;
  Recording tape;
  {
    Run run(tape);
    const ActivateRun active(run);
    run.settings.tensor_parallel = {2, true, false};
    run.compiled_region = 1;
    run.begin_phase(0, Phase::forward, "forward");
    const Tensor x = make_parameter({2, sequence / 2, hidden}, DType::bfloat16, "x");
    const Tensor weight = make_parameter({narrow, hidden}, DType::bfloat16, "weight");
    Tensor out;
    {
      const Tensor gathered = gather_sequence(x);
      const Tensor first = linear(gathered, weight);
      const Tensor second = linear(gathered, weight);
      const Tensor third = linear(gathered, weight);
      out = first + second + third;
    }
    run.begin_phase(0, Phase::backward, "backward");
    run_backward(out, allocate({2, sequence, narrow}, DType::bfloat16, {}));
    run.closed = true;
  }
  const Bytes whole = 2 * sequence * hidden * 2;
  const Bytes backward = fold(tape)[1].peak.total - whole / 2;  // beside the leaf
  CHECK(backward >= 4 * whole);
  CHECK(backward < 4 * whole + whole / 2);
}

// Each block casts its weights for itself: of a whole pass without gradients nothing is left in a cache.
TEST_CASE("compiled blocks: recomputed under autocast, a block keeps its input alone") {
  Config config;
  config.model = gpt2();
  config.recipe.framework = Framework::transformers;
  config.recipe.precision = Precision::bf16_autocast;
  config.recipe.sequence_length = 1024;
  config.recipe.compile_blocks = true;
  config.recipe.recomputation = Recomputation::full;
  CHECK(kept_with_copies(config) == Bytes{4} * 1024 * 1024);
}

TEST_CASE("compiled blocks: the folded tape beside tensor parallelism has the peaks of the recorded one") {
  Config config;
  config.model = small_llama(6);
  Recipe& recipe = config.recipe;
  recipe.framework = Framework::torchtitan;
  recipe.torchtitan_release = TorchtitanRelease::before_0_2_2;
  recipe.sequence_length = 1024;
  recipe.micro_batch_size = GENERATE(1, 2);
  recipe.compile_blocks = true;
  recipe.tensor_parallel = 4;
  recipe.sequence_parallel = true;
  recipe.loss = Loss::vocabulary_parallel;
  recipe.data_parallel = DataParallel::fsdp;
  recipe.data_parallel_size = 4;
  recipe.context_parallel = GENERATE(1, 2);
  recipe.recomputation = GENERATE(Recomputation::none, Recomputation::full, Recomputation::selective_operations);
  recipe.precision = recipe.recomputation == Recomputation::full ? Precision::fp8 : Precision::fsdp_bf16;
  CHECK(highest_peak(config, {.fold = true}) == highest_peak(config, {.fold = false}));
}

TEST_CASE("compiled blocks: the folded tape of autocast has the peaks of the recorded one") {
  Config config;
  config.model = gpt2();
  config.recipe.framework = Framework::transformers;
  config.recipe.precision = Precision::bf16_autocast;
  config.recipe.sequence_length = 1024;
  config.recipe.compile_blocks = true;
  config.recipe.recomputation = GENERATE(Recomputation::none, Recomputation::full);
  config.recipe.data_parallel = DataParallel::ddp;
  config.recipe.data_parallel_size = GENERATE(1, 4);
  CHECK(highest_peak(config, {.fold = true}) == highest_peak(config, {.fold = false}));
}
