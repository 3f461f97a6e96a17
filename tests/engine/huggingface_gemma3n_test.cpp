// config.json of Gemma 3n.
#include <string>

#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/huggingface_models.h"

using namespace trainmem;

// Sizes as transformers 5.16 writes them: models/gemma3n/convert_gemma3n_weights.py and configuration_gemma3n.py.
TEST_CASE("Hugging Face: the text part of a Gemma 3n is the model of its preset") {
  std::string widths, sparsity;
  for (int i = 0; i < 30; ++i) {
    widths += i == 0 ? "[8192" : ", 8192";
    sparsity += i == 0 ? "[0.95" : i < 10 ? ", 0.95" : ", 0.0";
  }
  Issues issues;
  CHECK(differences_from_preset(R"({"model_type": "gemma3n_text", "intermediate_size": )" + widths +
                                    R"(], "num_hidden_layers": 30, "num_kv_shared_layers": 10,
                                    "activation_sparsity_pattern": )" +
                                    sparsity + "]}",
                                "gemma3n-e2b", issues)
            .empty());
  CHECK(differences_from_preset(R"({"model_type": "gemma3n"})", "gemma3n-e4b", issues).empty());
  CHECK(issues.empty());
}

// Counted by transformers 5.16 itself: the parameters of AutoModelForCausalLM.from_config.
TEST_CASE("Hugging Face: parameters of Gemma 3n") {
  for (const auto& [preset, count] : {std::pair{"gemma3n-e2b", 4'435'182'688}, {"gemma3n-e4b", 6'835'235'568}}) {
    Config config;
    Issues issues;
    apply_model_preset(preset, config, issues);
    CHECK(parameter_count(config.model) == count);
    apply_gpu_preset("h100-sxm", config, issues);
    CHECK(validate(config).empty());
    config.recipe.quantization = Quantization::nf4;
    config.recipe.lora.rank = 8;
    CHECK_FALSE(validate(config).empty());
  }
}

TEST_CASE("Hugging Face: what Gemma 3n can say and no forward does") {
  const auto [text, path] = GENERATE(table<const char*, const char*>({
      {R"({"model_type": "gemma3n_text", "num_hidden_layers": 2, "intermediate_size": [640, 320]})",
       "/intermediate_size"},
      {R"({"model_type": "gemma3n_text", "num_hidden_layers": 2, "activation_sparsity_pattern": [0.0, 0.95]})",
       "/activation_sparsity_pattern"},
      {R"({"model_type": "gemma3n_text", "altup_correct_scale": false})", "/altup_correct_scale"},
  }));
  CAPTURE(text);
  Issues issues;
  read_huggingface(text, issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "not_yet_modelled");
  CHECK(issues[0].path == path);
}
