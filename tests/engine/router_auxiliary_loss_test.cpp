// The loss that balances experts: read from config.json, refused where no class has it, and what it adds to a step.
// transformers models/mixtral/modeling_mixtral.py: load_balancing_loss_func; recorded:
// tests/traces/other_settings.json.
#include <algorithm>
#include <cstring>

#include "engine/config/values.h"
#include "engine/launch/import.h"
#include "engine/modelled/not_counted.h"
#include "engine/presets/apply.h"
#include "engine/tensor/tensor.h"
#include "engine/training/step.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/huggingface_models.h"

using namespace trainmem;

namespace {

Config of_preset(const char* name, RouterAuxiliaryLoss loss) {
  Config config;
  Issues issues;
  apply_model_preset(name, config, issues);
  apply_gpu_preset("h100-sxm", config, issues);
  REQUIRE(issues.empty());
  config.model.experts.router_auxiliary_loss = loss;
  config.recipe.precision = Precision::bf16;
  return config;
}

bool refused(const Config& config) {
  const Issues issues = validate(config);
  return std::any_of(issues.begin(), issues.end(), [](const Issue& issue) {
    return issue.code == "not_yet_modelled" && issue.path == "/model/experts/router_auxiliary_loss";
  });
}

Bytes bytes_of(const Recording& recording, const char* role) {
  Bytes bytes = 0;
  for (const StorageRecord& storage : recording.storages)
    if (storage.role != nullptr && std::strcmp(storage.role, role) == 0) bytes = std::max(bytes, storage.bytes);
  return bytes;
}

}  // namespace

TEST_CASE("The loss that balances experts: output_router_logits of a config.json asks for it") {
  Issues issues;
  const Model model = read_huggingface(R"({"model_type": "mixtral", "output_router_logits": true})", issues);
  CHECK(issues.empty());
  CHECK(model.experts.router_auxiliary_loss == RouterAuxiliaryLoss::unmasked);
  CHECK(read_huggingface(R"({"model_type": "llama", "output_router_logits": true})", issues)
            .experts.router_auxiliary_loss == RouterAuxiliaryLoss::none);
  CHECK(issues.empty());
}

TEST_CASE("The loss that balances experts: eight of Qwen 3's 128 in 48 layers, one-hot in 64-bit integers") {
  const Bytes copies = Bytes{48} * 4096 * 8 * 128;
  Config config = of_preset("qwen3-30b-a3b", RouterAuxiliaryLoss::unmasked);
  CHECK(bytes_of(run_training(config, {}), "chosen experts, one-hot") == copies * 8);
  CHECK(bytes_of(run_training(config, {.fold = true}), "router logits of all layers") == Bytes{48} * 4096 * 128 * 2);
  config.model.experts.router_auxiliary_loss = RouterAuxiliaryLoss::none;
  CHECK(bytes_of(run_training(config, {}), "chosen experts, one-hot") == 0);
}

TEST_CASE("The loss that balances experts: refused where a class, a release or a framework has none") {
  using enum RouterAuxiliaryLoss;
  CHECK_FALSE(refused(of_preset("mixtral-8x7b", unmasked)));
  CHECK_FALSE(refused(of_preset("mixtral-8x7b", masked)));
  CHECK(refused(of_preset("deepseek-v3", unmasked)));
  CHECK(refused(of_preset("llama2-7b", unmasked)));
  Config config = of_preset("mixtral-8x7b", unmasked);
  config.recipe.transformers_release = TransformersRelease::before_4_46;
  CHECK(refused(config));
  config = of_preset("qwen3-30b-a3b", unmasked);
  config.recipe.framework = Framework::torchtitan;
  CHECK(refused(config));
}

// Megatron-Core transformer/moe/router.py: TopKRouter.aux_loss_load_balancing, layer by layer.
TEST_CASE("The loss that balances experts: under Megatron each layer maps its tokens to experts once more") {
  const auto maps = [](RouterAuxiliaryLoss loss) {
    Config config = of_preset("mixtral-8x7b", loss);
    config.recipe = default_recipe(Framework::megatron);
    config.model.num_hidden_layers = 3;
    CHECK_FALSE(refused(config));
    const Recording recording = run_training(config, {.steps = 1});
    return std::count_if(recording.storages.begin(), recording.storages.end(), [](const StorageRecord& storage) {
      return storage.role != nullptr && std::strcmp(storage.role, "routing map") == 0 &&
             storage.bytes == Bytes{4096} * 8;
    });
  };
  CHECK(maps(RouterAuxiliaryLoss::none) == 0);
  CHECK(maps(RouterAuxiliaryLoss::unmasked) == 3);
  CHECK(refused([] {
    Config config = of_preset("mixtral-8x7b", RouterAuxiliaryLoss::masked);
    config.recipe = default_recipe(Framework::megatron);
    return config;
  }()));
}

// NVIDIA/Megatron-LM examples/mixtral/train_mixtral_8x7b_distributed.sh
TEST_CASE("The loss that balances experts: Megatron's arguments say it together") {
  const auto read = [](const std::string& arguments) {
    return import_text("--num-layers 32 --bf16 --num-experts 8 " + arguments)
        .config.model.experts.router_auxiliary_loss;
  };
  CHECK(read("--moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2") == RouterAuxiliaryLoss::unmasked);
  CHECK(read("--moe-aux-loss-coeff 1e-2") == RouterAuxiliaryLoss::unmasked);
  CHECK(read("--moe-router-load-balancing-type aux_loss") == RouterAuxiliaryLoss::none);
  CHECK(read("--moe-router-load-balancing-type sinkhorn --moe-aux-loss-coeff 1e-2") == RouterAuxiliaryLoss::none);
  CHECK(read("--moe-aux-loss-coeff 0.0") == RouterAuxiliaryLoss::none);
}

TEST_CASE("The loss that balances experts: what is counted is not among what is not") {
  const auto names_the_loss = [](RouterAuxiliaryLoss loss) {
    Config config = of_preset("mixtral-8x7b", loss);
    config.recipe = default_recipe(Framework::megatron);
    std::string all;
    for (const std::string& sentence : not_counted(config)) all += sentence;
    return all.find("load-balancing loss") != std::string::npos;
  };
  CHECK(names_the_loss(RouterAuxiliaryLoss::none));
  CHECK_FALSE(names_the_loss(RouterAuxiliaryLoss::unmasked));
}
