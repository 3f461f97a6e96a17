// Keys of a config.json by which classes differ: what one takes, another has not, and no forward does.
#include <nlohmann/json.hpp>
#include <string>

#include "engine/accuracy/translate.h"
#include "engine/presets/huggingface/config.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

Model read(const std::string& text, Issues& issues) {
  return model_from_huggingface(huggingface_config(nlohmann::json::parse(text)), issues);
}

}  // namespace

TEST_CASE("Hugging Face: which projections attention_bias means is the class's own") {
  const auto [text, inputs, output] = GENERATE(table<const char*, bool, bool>({
      {R"({"model_type": "deepseek_v3", "attention_bias": true})", true, true},
      {R"({"model_type": "dots1", "attention_bias": true})", true, true},
      {R"({"model_type": "olmoe", "attention_bias": true})", true, true},
      {R"({"model_type": "glm4_moe", "attention_bias": true})", true, false},
      {R"({"model_type": "mistral", "attention_bias": true})", false, false},
      {R"({"model_type": "qwen2", "attention_bias": false})", true, false},
      {R"({"model_type": "qwen2_moe", "qkv_bias": false})", false, false},
      {R"({"model_type": "ernie4_5_moe", "use_bias": true})", true, true},
  }));
  CAPTURE(text);
  Issues issues;
  const Model model = read(text, issues);
  CHECK(model.attention_bias == inputs);
  CHECK(model.attention_output_bias == output);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: keys that a class carries and does not use") {
  Issues issues;
  const Model mpt = read(
      R"({"model_type": "mpt", "d_model": 512, "expansion_ratio": 8, "no_bias": false, "resid_pdrop": 0.3,
          "attn_config": {"attn_pdrop": 0.1}})",
      issues);
  CHECK(mpt.intermediate_size == 2048);
  CHECK_FALSE(mpt.mlp_bias);
  CHECK(mpt.hidden_dropout == 0.1);
  CHECK(read(R"({"model_type": "gemma3_text", "attn_logit_softcapping": 50.0})", issues).attn_logit_softcapping == 0);
  CHECK_FALSE(read(R"({"model_type": "glm_moe_dsa", "mlp_bias": true})", issues).mlp_bias);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: layers with an MLP only, and layers without RoPE") {
  Issues issues;
  const Model qwen = read(R"({"model_type": "qwen3_moe", "mlp_only_layers": [0, 1]})", issues);
  CHECK(qwen.experts.first_k_dense_replace == 2);
  const Model llama4 = read(R"({"model_type": "llama4_text", "no_rope_layer_interval": 2})", issues);
  CHECK(llama4.nope_every == 2);
  CHECK(llama4.sliding_window_pattern == 2);
  const Model smollm3 =
      read(R"({"model_type": "smollm3", "num_hidden_layers": 4, "no_rope_layers": [1, 1, 1, 0]})", issues);
  CHECK(smollm3.nope_every == 4);
  CHECK(read(R"({"model_type": "opt", "_remove_final_layer_norm": true})", issues).final_norm == false);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: keys that change memory and no forward has") {
  const auto [text, path] = GENERATE(table<const char*, const char*>({
      {R"({"model_type": "mixtral", "router_jitter_noise": 0.1})", "/router_jitter_noise"},
      {R"({"model_type": "minimax", "block_size": 128})", "/block_size"},
      {R"({"model_type": "qwen3_moe", "mlp_only_layers": [3]})", "/mlp_only_layers"},
      {R"({"model_type": "smollm3", "num_hidden_layers": 4, "no_rope_layers": [1, 0, 1, 0]})", "/no_rope_layers"},
      {R"({"model_type": "gpt2", "reorder_and_upcast_attn": true})", "/reorder_and_upcast_attn"},
      {R"({"model_type": "phi", "qk_layernorm": true})", "/qk_layernorm"},
      {R"({"model_type": "rwkv", "attention_hidden_size": 512})", "/attention_hidden_size"},
      {R"({"model_type": "recurrent_gemma", "lru_width": 512})", "/lru_width"},
      {R"({"model_type": "zamba2", "num_hidden_layers": 12})", "/layers_block_type"},
      {R"({"model_type": "modernbert-decoder", "classifier_bias": true})", "/classifier_bias"},
      {R"({"model_type": "bitnet", "quantization_config": {"quant_method": "bitnet", "quantization_mode": "offline",
        "linear_class": "bitlinear"}})",
       "/quantization_config"},
  }));
  CAPTURE(text);
  Issues issues;
  read(text, issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "not_yet_modelled");
  CHECK(issues[0].path == path);
}

// Classes that say the kinds of their layers one by one are asked for no more layers than a model may have.
TEST_CASE("Hugging Face: a number of layers beyond all models is refused, not counted through") {
  const auto layers = GENERATE("1000000000000", "1e300", "-5", "0");
  const auto rest = GENERATE(R"("model_type": "jamba")", R"("model_type": "gemma3n_text")",
                             R"("model_type": "lfm2", "full_attn_idxs": [0])", R"("model_type": "olmo_hybrid")",
                             R"("model_type": "deepseek_v32")");
  CAPTURE(layers, rest);
  Issues issues;
  read(R"({"num_hidden_layers": )" + std::string(layers) + ", " + rest + "}", issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "out_of_range");
  CHECK(issues[0].path == "/num_hidden_layers");
}

TEST_CASE("Hugging Face: GPT-BigCode has one key and value head or as many as query heads, whatever else is said") {
  // configuration_gpt_bigcode.py: num_key_value_heads = 1 if multi_query else n_head.
  const auto [text, heads] = GENERATE(table<const char*, std::int64_t>({
      {R"({"model_type": "gpt_bigcode", "n_head": 48, "n_embd": 6144})", 1},
      {R"({"model_type": "gpt_bigcode", "n_head": 48, "n_embd": 6144, "multi_query": false})", 48},
      {R"({"model_type": "gpt_bigcode", "n_head": 48, "n_embd": 6144, "num_key_value_heads": 8})", 1},
  }));
  CAPTURE(text);
  Issues issues;
  CHECK(read(text, issues).num_key_value_heads == heads);
  CHECK(issues.empty());
}
