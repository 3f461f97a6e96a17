// config.json of Gemma 4.
#include <string>

#include "engine/config/values.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/presets/huggingface/config.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/huggingface_models.h"

using namespace trainmem;

namespace {

/// layer_types: `turns` times `sliding` layers with a window and one without.
std::string turns(int sliding, int times) {
  std::string list = "[";
  for (int i = 0; i < times; ++i) {
    for (int j = 0; j < sliding; ++j) list += "\"sliding_attention\", ";
    list += i + 1 < times ? "\"full_attention\", " : "\"full_attention\"]";
  }
  return list;
}

constexpr const char* rotary = R"("rope_parameters": {"full_attention": {"partial_rotary_factor": 0.25,
  "rope_theta": 1000000.0, "rope_type": "proportional"}, "sliding_attention": {"rope_theta": 10000.0,
  "rope_type": "default"}}, )";

Config named(const char* preset) {
  Config config;
  Issues issues;
  apply_model_preset(preset, config, issues);
  complete(config);
  return config;
}

}  // namespace

// Sizes as transformers 5.16 writes them: models/gemma4/convert_gemma4_weights.py, gemma4_unified likewise.
TEST_CASE("Hugging Face: the text part of a Gemma 4 is the model of its preset") {
  const auto [preset, text] =
      GENERATE(table<std::string, std::string>({
          {"gemma4-31b", R"("model_type": "gemma4_text", "hidden_size": 5376, "hidden_size_per_layer_input": 0,
        "intermediate_size": 21504, "num_hidden_layers": 60, "num_attention_heads": 32, "num_key_value_heads": 16,
        "num_global_key_value_heads": 4, "attention_k_eq_v": true, "use_bidirectional_attention": "vision",
        "num_kv_shared_layers": 0, "enable_moe_block": false, "num_experts": null, "sliding_window": 1024,
        "final_logit_softcapping": 30.0, "max_position_embeddings": 262144, "vocab_size_per_layer_input": 262144,
        "layer_types": )" + turns(5, 10)},
          {"gemma4-12b", R"("model_type": "gemma4_unified_text", "hidden_size": 3840, "intermediate_size": 15360,
        "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 8, "num_global_key_value_heads": 1,
        "attention_k_eq_v": true, "use_bidirectional_attention": "vision", "num_kv_shared_layers": 0,
        "final_logit_softcapping": 30.0, "layer_types": )" +
                             turns(5, 8)},
          {"gemma4-26b-a4b", R"("model_type": "gemma4_text", "hidden_size": 2816, "hidden_size_per_layer_input": 0,
        "intermediate_size": 2112, "num_hidden_layers": 30, "num_attention_heads": 16, "num_key_value_heads": 8,
        "num_global_key_value_heads": 2, "attention_k_eq_v": true, "use_bidirectional_attention": "vision",
        "enable_moe_block": true, "num_experts": 128, "moe_intermediate_size": 704, "top_k_experts": 8,
        "sliding_window": 1024, "final_logit_softcapping": 30.0, "max_position_embeddings": 262144,
        "layer_types": )" + turns(5, 5)},
          {"gemma4-e4b", R"("model_type": "gemma4_text", "hidden_size": 2560, "hidden_size_per_layer_input": 256,
        "intermediate_size": 10240, "num_hidden_layers": 42, "num_attention_heads": 8, "num_key_value_heads": 2,
        "num_global_key_value_heads": null, "attention_k_eq_v": false, "use_bidirectional_attention": null,
        "num_kv_shared_layers": 18, "final_logit_softcapping": 30.0, "layer_types": )" +
                             turns(5, 7)},
          {"gemma4-e2b", R"("model_type": "gemma4_text", "hidden_size": 1536, "hidden_size_per_layer_input": 256,
        "intermediate_size": 6144, "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 1,
        "num_global_key_value_heads": null, "num_kv_shared_layers": 20, "use_double_wide_mlp": true,
        "final_logit_softcapping": 30.0, "layer_types": )" +
                             turns(4, 7)},
      }));
  CAPTURE(preset);
  Issues issues;
  CHECK(differences_from_preset("{" + std::string(rotary) + text + "}", preset, issues).empty());
  CHECK(issues.empty());
}

// Counted by transformers 5.16 itself: the parameters of AutoModelForCausalLM.from_config.
TEST_CASE("Hugging Face: parameters of Gemma 4") {
  CHECK(parameter_count(named("gemma4-31b").model) == 30'697'345'280);
  CHECK(parameter_count(named("gemma4-12b").model) == 11'907'350'272);
  CHECK(parameter_count(named("gemma4-26b-a4b").model) == 25'233'141'760);
  CHECK(parameter_count(named("gemma4-e4b").model) == 7'463'013'376);
  CHECK(parameter_count(named("gemma4-e2b").model) == 4'628'569'344);
  Issues issues;
  CHECK(parameter_count(read_huggingface(R"({"model_type": "gemma4_text"})", issues)) == 5'077'177'856);
  CHECK(parameter_count(read_huggingface(R"({"model_type": "gemma4_text", "hidden_size": 256, "intermediate_size": 640,
    "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 32, "global_head_dim": 64,
    "vocab_size": 5003, "vocab_size_per_layer_input": 4001, "hidden_size_per_layer_input": 32,
    "num_kv_shared_layers": 3, "use_double_wide_mlp": true, "layer_types": )" +
                                             turns(2, 2) + "}",
                                         issues)) == 7'808'096);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: what Gemma 4 can say and no forward does") {
  const auto [text, path] = GENERATE(table<const char*, const char*>({
      {R"({"model_type": "gemma4_text", "use_bidirectional_attention": "all"})", "/use_bidirectional_attention"},
      {R"({"model_type": "gemma4_text", "num_hidden_layers": 2,
           "layer_types": ["full_attention", "sliding_attention"]})",
       "/layer_types"},
  }));
  CAPTURE(text);
  Issues issues;
  read_huggingface(text, issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "not_yet_modelled");
  CHECK(issues[0].path == path);
}

TEST_CASE("Gemma 4: what cannot be, and what other frameworks and kernels do not have") {
  const auto codes = [](Config config) {
    std::string result;
    for (const Issue& issue : validate(config)) result += issue.code + " " + issue.path + ", ";
    return result;
  };
  Config config = named("gemma4-e2b");
  CHECK(codes(config).empty());
  config.model.num_kv_shared_layers = 34;
  CHECK(codes(config) == "contradiction /model/num_kv_shared_layers, ");
  config = named("gemma4-e2b");
  config.model.vocab_size_per_layer_input = 0;
  CHECK(codes(config) == "missing /model/vocab_size_per_layer_input, ");
  config = named("gemma4-31b");
  config.model.num_global_key_value_heads = 5;
  CHECK(codes(config) == "not_divisible /model/num_global_key_value_heads, ");
  config = named("gemma4-31b");
  config.recipe.attention = AttentionKernel::flash;
  CHECK(codes(config) == "not_yet_modelled /recipe/attention, ");
  for (const Framework framework : {Framework::megatron, Framework::torchtitan, Framework::litgpt}) {
    config = named("gemma4-31b");
    config.recipe = default_recipe(framework);
    complete(config);
    CHECK(codes(config).find("not_yet_modelled /model/") != std::string::npos);
  }
  config = named("llama2-7b");
  config.model.hidden_size_per_layer_input = config.model.vocab_size_per_layer_input = 256;
  CHECK(codes(config).find("not_yet_modelled /model/hidden_size_per_layer_input") != std::string::npos);
}
