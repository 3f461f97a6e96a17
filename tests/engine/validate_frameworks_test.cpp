// What validation refuses of frameworks' own rules: optimizers on shards, torchtitan, litgpt, torchtune.
#include <string>

#include "engine/config/values.h"
#include "engine/presets/apply.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/validation_issues.h"

using namespace trainmem;

TEST_CASE("validation: optimizers that step whole matrices get no number on shards") {
  for (const Optimizer optimizer :
       {Optimizer::muon, Optimizer::muon_adamw, Optimizer::galore, Optimizer::apollo, Optimizer::came}) {
    CAPTURE(static_cast<int>(optimizer));
    Config config;
    Issues issues;
    apply_model_preset("llama2-7b", config, issues);
    config.recipe.optimizer = optimizer;
    CHECK(validate(config).empty());
    config.recipe.data_parallel_size = 8;
    CHECK(validate(config).empty());
    config.recipe.data_parallel = DataParallel::fsdp;
    REQUIRE(validate(config).size() == 1);
    CHECK(validate(config)[0].code == "not_yet_modelled");
    CHECK(validate(config)[0].path == "/recipe/optimizer");
    config.recipe.data_parallel_size = 1;
    CHECK(validate(config).empty());
  }
}

TEST_CASE("validation: Adafactor gets a number on FSDP1's flat shards, and none on DTensors") {
  for (const Optimizer optimizer : {Optimizer::adafactor, Optimizer::adafactor_hf}) {
    CAPTURE(static_cast<int>(optimizer));
    Config config;
    Issues issues;
    apply_model_preset("llama2-7b", config, issues);
    config.recipe.optimizer = optimizer;
    config.recipe.data_parallel = DataParallel::fsdp;
    CHECK(validate(config).empty());
    config.recipe.data_parallel_size = 8;
    REQUIRE(validate(config).size() == 1);
    CHECK(validate(config)[0].code == "not_yet_modelled");
    CHECK(validate(config)[0].path == "/recipe/optimizer");
    config.recipe.fsdp_version = 1;
    CHECK(validate(config).empty());
    config.recipe.data_parallel = DataParallel::ddp;
    CHECK(validate(config).empty());
  }
}

TEST_CASE("validation: xIELU has a forward in the MLP of Apertus alone") {
  Config config;
  Issues issues;
  apply_model_preset("llama2-7b", config, issues);
  config.model.hidden_act = Activation::xielu;
  REQUIRE(validate(config).size() == 1);
  CHECK(validate(config)[0].path == "/model/hidden_act");
  config.model.model_type = "apertus";
  config.model.gated_mlp = false;
  config.model.qk_norm = QkNorm::per_head;
  CHECK(validate(config).empty());
  config.recipe.framework = Framework::megatron;
  CHECK_FALSE(validate(config).empty());
}

TEST_CASE("validation: torchtitan has no autocast beside tensor or pipeline parallelism") {
  const auto half = [](Config& c) {
    c.recipe.framework = Framework::torchtitan;
    c.recipe.torchtitan_release = TorchtitanRelease::before_0_2_2;
    c.recipe.precision = Precision::bf16_autocast;
  };
  CHECK(issues_after(half).empty());
  CHECK(issues_after([&](Config& c) {
          half(c);
          c.recipe.tensor_parallel = 2;
        }) == "contradiction /recipe/precision; ");
  CHECK(issues_after([&](Config& c) {
          half(c);
          c.recipe.pipeline_parallel = 2;
        }) == "contradiction /recipe/precision; ");
}

TEST_CASE("validation: what litgpt's own step does not do is refused, with a fix that helps") {
  Config config = llama();
  start_recipe(config, Framework::litgpt);
  config.model.tie_word_embeddings = false;
  CHECK(validate(config).empty());
  config.recipe.lora.rank = 8;
  CHECK(validate(config).empty());
  const auto only_path = [](const Config& asked) {
    const Issues issues = validate(asked);
    REQUIRE(issues.size() == 1);
    CHECK_FALSE(issues[0].fix.value.empty());
    return issues[0].path;
  };
  Config quantised = config;
  quantised.recipe.quantization = Quantization::nf4;
  CHECK(only_path(quantised) == "/recipe/quantization");
  Config divided = config;
  divided.recipe.data_parallel = DataParallel::fsdp;
  divided.recipe.fsdp_version = 2;
  divided.recipe.data_parallel_size = 2;
  divided.recipe.lora.rank = 0;
  CHECK(only_path(divided) == "/recipe/fsdp_version");
  Config tied = config;
  tied.model.tie_word_embeddings = true;
  CHECK(only_path(tied) == "/model/tie_word_embeddings");
  Config fused = config;
  fused.recipe.loss = Loss::fused;
  CHECK(only_path(fused) == "/recipe/loss");
}

TEST_CASE("validation: torchtune's checkpoints are never re-entrant") {
  Config config = llama();
  start_recipe(config, Framework::torchtune);
  config.recipe.lora.rank = 8;
  config.recipe.recomputation = Recomputation::full;
  CHECK(validate(config).empty());
  config.recipe.recomputation_reentrant = true;
  const Issues issues = validate(config);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].path == "/recipe/recomputation_reentrant");
}
