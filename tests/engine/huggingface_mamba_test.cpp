// config.json files of classes with layers of the first Mamba.
#include <string>

#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/huggingface_models.h"

using namespace trainmem;

TEST_CASE("Hugging Face: Mamba, Falcon Mamba and Jamba are the models of their presets") {
  const auto [preset, text] = GENERATE(table<std::string, std::string>({
      {"mamba-130m", R"({"model_type": "mamba", "hidden_size": 768, "intermediate_size": 1536, "num_hidden_layers": 24,
        "n_layer": 24, "d_model": 768, "time_step_rank": 48, "state_size": 16, "conv_kernel": 4, "expand": 2,
        "use_bias": false, "use_conv_bias": true, "residual_in_fp32": true, "vocab_size": 50280})"},
      {"mamba-2.8b", R"({"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64})"},
      {"falcon-mamba-7b", R"({"model_type": "falcon_mamba", "hidden_size": 4096, "intermediate_size": 8192,
        "num_hidden_layers": 64, "expand": 16, "vocab_size": 65024, "tie_word_embeddings": false})"},
      {"jamba-52b", R"({"model_type": "jamba"})"},
      {"jamba-1.5-large", R"({"model_type": "jamba", "hidden_size": 8192, "intermediate_size": 24576,
        "num_hidden_layers": 72, "num_attention_heads": 64, "mamba_dt_rank": 512})"},
  }));
  CAPTURE(preset);
  Issues issues;
  CHECK(differences_from_preset(text, preset, issues).empty());
  CHECK(issues.empty());
}

// Counted by transformers 5.16 itself: the parameters of AutoModelForCausalLM.from_config.
TEST_CASE("Hugging Face: parameters of Mamba, Falcon Mamba and Jamba") {
  const auto [text, count] = GENERATE(table<std::string, std::int64_t>({
      {R"({"model_type": "mamba", "num_hidden_layers": 24})", 129'135'360},
      {R"({"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64})", 2'768'345'600},
      {R"({"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64, "vocab_size": 65024,
        "tie_word_embeddings": false})",
       7'272'665'088},
      {R"({"model_type": "jamba"})", 51'570'323'328},
      {R"({"model_type": "jamba", "hidden_size": 8192, "intermediate_size": 24576, "num_hidden_layers": 72,
        "num_attention_heads": 64})",
       398'555'145'696},
  }));
  CAPTURE(text);
  Issues issues;
  CHECK(parameter_count(read_huggingface(text, issues)) == count);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: where Jamba's layers attend and have experts") {
  Issues issues;
  const Model model = read_huggingface(R"({"model_type": "jamba"})", issues);
  CHECK(model.layer_types == "4*mamba,full_attention,3*mamba");
  CHECK(model.experts.moe_layer_freq == 2);
  CHECK(model.mamba.time_step_rank == 256);
  const Model dense = read_huggingface(R"({"model_type": "jamba", "num_experts": 1, "attn_layer_period": 14,
    "attn_layer_offset": 7, "num_hidden_layers": 28})",
                                       issues);
  CHECK(dense.experts.num_experts == 0);
  CHECK(dense.layer_types == "7*mamba,full_attention,6*mamba");
  CHECK(issues.empty());
  read_huggingface(R"({"model_type": "jamba", "expert_layer_offset": 0})", issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].path == "/expert_layer_offset");
}

TEST_CASE("Mamba 1: what its kernels refuse, and what is Mamba 2's") {
  const auto [preset, change, path] = GENERATE(table<const char*, void (*)(Config&), const char*>({
      {"mamba-130m", [](Config& c) { c.model.mamba.proj_bias = true; }, "/recipe/fast_path"},
      {"mamba-130m", [](Config& c) { c.model.mamba.time_step_rank = 0; }, "/model/mamba/time_step_rank"},
      {"mamba2-130m", [](Config& c) { c.model.mamba.time_step_rank = 48; }, "/model/mamba/time_step_rank"},
      {"jamba-52b", [](Config& c) { c.recipe.precision = Precision::bf16_autocast; }, "/recipe/fast_path"},
  }));
  CAPTURE(preset, path);
  Config config;
  Issues issues;
  apply_model_preset(preset, config, issues);
  apply_gpu_preset("h100-sxm", config, issues);
  config.recipe.precision = Precision::bf16;
  CHECK(validate(config).empty());
  change(config);
  const Issues found = validate(config);
  REQUIRE(found.size() == 1);
  CHECK(found[0].path == path);
}
