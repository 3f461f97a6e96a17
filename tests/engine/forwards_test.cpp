// The forwards of all presets: their weights against the list of parameters, and one layer that stands for several
// against all of them.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/blocks/causal_model.h"
#include "engine/blocks/transformers/families.h"
#include "engine/codec/json_config.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/presets.h"
#include "engine/tape/fold.h"
#include "engine/training/step.h"
#include "tests/catch.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

Model model_of(std::string_view preset) {
  return read_config("{\"model\": \"" + std::string(preset) + "\"}").config.model;
}

bool has_forward(const Model& model) {
  if (model.experts.num_experts > 0 || model.latent_attention.kv_lora_rank > 0) return false;
  Recording recording;
  Run run(recording);
  const ActivateRun active(run);
  return transformers::make_architecture(model, DType::bfloat16) != nullptr;
}

/// Elements of each weight: a list of parameters may write a tensor transposed, or its heads apart.
using Sizes = std::vector<std::int64_t>;

Sizes weights_of_forward(const Model& model) {
  Recording recording;
  Run run(recording);
  const ActivateRun active(run);
  const CausalModel forward(transformers::make_architecture(model, DType::bfloat16),
                            layer_slots(model, Recipe{}, false), Recipe{}, nullptr);
  Sizes sizes;
  for (const RegisteredParameter& parameter : run.parameters) sizes.push_back(parameter.tensor.elements().value());
  return sizes;
}

/// One preset of each model_type that has a forward.
std::vector<std::string_view> one_of_each_family() {
  std::vector<std::string_view> ids;
  std::vector<std::string> seen;
  for (const PresetText& preset : model_presets()) {
    const Model model = model_of(preset.id);
    if (!has_forward(model) || std::find(seen.begin(), seen.end(), model.model_type) != seen.end()) continue;
    seen.push_back(model.model_type);
    ids.push_back(preset.id);
  }
  return ids;
}

}  // namespace

TEST_CASE("forwards: a model registers the weights of its parameter list, in that order") {
  int models = 0;
  for (const PresetText& preset : model_presets()) {
    const Model model = model_of(preset.id);
    if (!has_forward(model) || model.model_type == "megatron-gpt") continue;  // listed as Megatron registers it
    CAPTURE(preset.id);
    ++models;
    Sizes expected;
    for (const ParameterTensor& tensor : parameters(model))
      if (tensor.tied_to == nullptr) expected.push_back(tensor.elements());
    CHECK(weights_of_forward(model) == expected);
  }
  CHECK(models >= 90);
}

TEST_CASE("forwards: a layer that stands for several gives the peaks of all of them") {
  for (const std::string_view id : one_of_each_family()) {
    Config config;
    config.model = model_of(id);
    config.model.num_hidden_layers = 14;
    config.model.num_kv_shared_layers = std::min<std::int64_t>(config.model.num_kv_shared_layers, 4);
    config.recipe.micro_batch_size = 2;
    config.recipe.sequence_length = 256;
    for (const Precision precision : {Precision::bf16, Precision::bf16_autocast}) {
      for (const AttentionKernel attention : {AttentionKernel::sdpa, AttentionKernel::eager}) {
        for (const Recomputation recomputation : {Recomputation::none, Recomputation::full}) {
          CAPTURE(id, static_cast<int>(precision), static_cast<int>(attention), static_cast<int>(recomputation));
          config.recipe.precision = precision;
          config.recipe.attention = attention;
          config.recipe.recomputation = recomputation;
          const auto folded = fold(run_training(config, {.steps = 2, .fold = true}));
          const auto full = fold(run_training(config, {.steps = 2, .fold = false}));
          REQUIRE(folded.size() == full.size());
          for (std::size_t i = 0; i < full.size(); ++i) {
            CHECK(folded[i].peak.total == full[i].peak.total);
            CHECK(folded[i].end.total == full[i].end.total);
          }
        }
      }
    }
  }
}

TEST_CASE("forwards: a step inside backward leaves no gradients, and folds too") {
  for (const std::string_view id : {"gpt2", "llama3.2-1b", "opt-350m"}) {
    for (const Optimizer optimizer : {Optimizer::adamw, Optimizer::sgd, Optimizer::adamw_8bit}) {
      CAPTURE(id, static_cast<int>(optimizer));
      Config config;
      config.model = model_of(id);
      config.recipe.sequence_length = 256;
      config.recipe.precision = Precision::bf16;
      config.recipe.optimizer = optimizer;
      config.recipe.optimizer_implementation = OptimizerImplementation::in_backward;
      const auto folded = fold(run_training(config, {.steps = 2, .fold = true}));
      const auto full = fold(run_training(config, {.steps = 2, .fold = false}));
      REQUIRE(folded.size() == full.size());
      for (std::size_t i = 0; i < full.size(); ++i) {
        CHECK(folded[i].peak.components == full[i].peak.components);
        CHECK(folded[i].end.components == full[i].end.components);
      }
      const ComponentBytes& end = full.back().end.components;
      const Bytes parameters = parameter_count(config.model);
      CHECK(end[Component::gradients] == 0);
      if (optimizer == Optimizer::adamw) CHECK(end[Component::optimizer_states] == 2 * 2 * parameters);
    }
  }
}

// torchtitan models/common/attention.py, GQAttention: heads are normalised before they turn. Each of both norms keeps
// what it normalises, in 16 bits, and 1/rms in fp32; the tables that turn are views of a buffer.
TEST_CASE("torchtitan's Qwen 3 keeps query and key as they were before their norms, beside what Llama keeps") {
  const auto kept = [](QkNorm norm) {
    Config config;
    config.model = small_llama(6);
    config.model.model_type = norm == QkNorm::none ? "llama" : "qwen3";
    config.model.qk_norm = norm;
    config.model.num_key_value_heads = 4;
    config.recipe.framework = Framework::torchtitan;
    config.recipe.torchtitan_release = TorchtitanRelease::before_0_2_2;
    config.recipe.precision = Precision::bf16;
    config.recipe.fused_norm = true;
    config.recipe.sequence_length = 1024;
    Bytes bytes = 0;
    for (const FoldedPhase& phase : fold(run_training(config, {.steps = 1, .fold = true})))
      if (phase.phase == Phase::forward) bytes = phase.end.components[Component::activations];
    return bytes;
  };
  const Bytes heads = 16 + 4;
  CHECK(kept(QkNorm::per_head) - kept(QkNorm::none) == 6 * 1024 * heads * (2 * 64 + 4));
}
