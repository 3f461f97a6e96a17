// config.json of classes whose layers with a window have other heads, and of Mamba 2 alone.
#include <string>
#include <vector>

#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/huggingface_models.h"

using namespace trainmem;

namespace {

/// A list of one item for each layer, the items of `period` in turns.
std::string in_turns(const std::vector<std::string>& period, std::size_t layers) {
  std::string text = "[";
  for (std::size_t i = 0; i < layers; ++i) text += (i > 0 ? ", " : "") + period[i % period.size()];
  return text + "]";
}

const std::string full = "\"full_attention\"";
const std::string sliding = "\"sliding_attention\"";

std::string laguna_xs() {
  return R"({"model_type": "laguna", "vocab_size": 100352, "hidden_size": 2048, "intermediate_size": 8192,
    "num_hidden_layers": 40, "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128,
    "max_position_embeddings": 131072, "attention_bias": false, "num_experts": 256, "num_experts_per_tok": 8,
    "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "gating": true, "sliding_window": 512,
    "rope_parameters": {"full_attention": {"rope_theta": 500000.0, "rope_type": "yarn", "factor": 32.0,
      "partial_rotary_factor": 0.5}, "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default",
      "partial_rotary_factor": 1.0}}, "layer_types": )" +
         in_turns({full, sliding, sliding, sliding}, 40) +
         ", \"num_attention_heads_per_layer\": " + in_turns({"48", "64", "64", "64"}, 40) + "}";
}

}  // namespace

TEST_CASE("Hugging Face: Laguna, MiMo-V2 and Mamba 2 are the models of their presets") {
  const auto [preset, text] = GENERATE(table<std::string, std::string>({
      {"laguna-xs.2", laguna_xs()},
      {"mimo-v2-flash", R"({"model_type": "mimo_v2_flash", "max_position_embeddings": 262144,
        "swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128, "partial_rotary_factor": 0.334,
        "add_swa_attention_sink_bias": true, "add_full_attention_sink_bias": false, "n_shared_experts": null})"},
      {"mamba2-2.7b", R"({"model_type": "mamba2", "hidden_size": 2560, "num_heads": 80, "vocab_size": 50288,
        "n_groups": 1, "tie_word_embeddings": true})"},
      {"mamba2-130m", R"({"model_type": "mamba2", "hidden_size": 768, "num_hidden_layers": 24, "num_heads": 24,
        "vocab_size": 50288, "n_groups": 1, "tie_word_embeddings": true})"},
      {"mamba-codestral-7b", R"({"model_type": "mamba2"})"},
  }));
  CAPTURE(preset);
  Issues issues;
  CHECK(differences_from_preset(text, preset, issues).empty());
  CHECK(issues.empty());
}

// Counted by transformers 5.16 itself: the parameters of AutoModelForCausalLM.from_config. It counts Laguna's
// corrections of the load as parameters, MiMo's as buffers: 47 layers of 256.
TEST_CASE("Hugging Face: parameters of Laguna, MiMo-V2 and Mamba 2") {
  const auto [text, count] = GENERATE(table<std::string, std::int64_t>({
      {laguna_xs(), 33'442'617'088},
      {R"({"model_type": "laguna"})", 33'189'975'808},
      {R"({"model_type": "mimo_v2_flash"})", 308'778'768'832 + 47 * 256},
      {R"({"model_type": "mamba2"})", 7'285'403'648},
      {R"({"model_type": "mamba2", "hidden_size": 2560, "num_heads": 80, "vocab_size": 50288, "n_groups": 1,
        "tie_word_embeddings": true})",
       2'702'599'680},
      {R"({"model_type": "mamba2", "hidden_size": 768, "num_hidden_layers": 24, "num_heads": 24, "vocab_size": 50288,
        "n_groups": 1, "tie_word_embeddings": true})",
       128'989'632},
  }));
  CAPTURE(text);
  Issues issues;
  CHECK(parameter_count(read_huggingface(text, issues)) == count);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: the language model of Kimi K2.5 is of DeepSeek V3's class") {
  Issues issues;
  const Model own = read_huggingface(R"({"model_type": "kimi_k25", "text_config": {"model_type": "kimi_k2"}})", issues);
  const Model without = read_huggingface(R"({"model_type": "kimi_k25"})", issues);
  CHECK(own == without);
  CHECK(own.model_type == "deepseek_v3");
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: which layers of Laguna and MiMo-V2 slide") {
  Issues issues;
  const Model all = read_huggingface(R"({"model_type": "laguna"})", issues);
  CHECK(all.sliding_window == 0);
  CHECK(all.layer_types.empty());
  const Model window = read_huggingface(R"({"model_type": "laguna", "num_hidden_layers": 2, "layer_types": )" +
                                            in_turns({sliding}, 2) + R"(, "num_attention_heads_per_layer": [64, 64]})",
                                        issues);
  CHECK(window.num_attention_heads == 64);
  CHECK(window.num_sliding_attention_heads == 0);
  CHECK(window.sliding_window == 512);
  const Model mimo = read_huggingface(R"({"model_type": "mimo_v2_flash", "num_hidden_layers": 8})", issues);
  CHECK(mimo.layer_types == "full_attention,4*sliding_attention,full_attention,2*sliding_attention");
  const Model no_window = read_huggingface(R"({"model_type": "mimo_v2_flash", "num_hidden_layers": 1})", issues);
  CHECK(no_window.num_key_value_heads == 4);
  CHECK(no_window.num_global_key_value_heads == 0);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: what Laguna, MiMo-V2 and Mamba 2 can say and no forward does") {
  const auto [text, path] = GENERATE(table<const char*, const char*>({
      {R"({"model_type": "laguna", "gating": "per-element"})", "/gating"},
      {R"({"model_type": "laguna", "gating": false})", "/gating"},
      {R"({"model_type": "laguna", "moe_router_logit_softcapping": 30.0})", "/moe_router_logit_softcapping"},
      {R"({"model_type": "laguna", "moe_apply_router_weight_on_input": true})", "/moe_apply_router_weight_on_input"},
      {R"({"model_type": "laguna", "num_hidden_layers": 2, "num_attention_heads_per_layer": [48, 64]})",
       "/num_attention_heads_per_layer"},
      {R"({"model_type": "laguna", "num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"],
        "rope_parameters": {"sliding_attention": {"rope_type": "default", "partial_rotary_factor": 0.5}}})",
       "/rope_parameters/sliding_attention/partial_rotary_factor"},
      {R"({"model_type": "laguna", "num_hidden_layers": 3, "mlp_layer_types": ["dense", "sparse", "dense"]})",
       "/mlp_layer_types"},
      {R"({"model_type": "mimo_v2_flash", "norm_topk_prob": false})", "/norm_topk_prob"},
      {R"({"model_type": "mimo_v2_flash", "add_full_attention_sink_bias": true})", "/add_full_attention_sink_bias"},
      {R"({"model_type": "mimo_v2_flash", "swa_num_key_value_heads": 4})", "/swa_num_key_value_heads"},
      {R"({"model_type": "mimo_v2_flash", "hybrid_layer_pattern": [1, 1]})", "/hybrid_layer_pattern"},
      {R"({"model_type": "mimo_v2_flash", "rope_parameters": {"full_attention": {"partial_rotary_factor": 1.0}}})",
       "/rope_parameters/sliding_attention/partial_rotary_factor"},
      {R"({"model_type": "mamba2", "residual_in_fp32": false})", "/residual_in_fp32"},
      {R"({"model_type": "mamba2", "hidden_act": "gelu"})", "/hidden_act"},
      {R"({"model_type": "mamba2", "expand": 4})", "/num_heads"},
  }));
  CAPTURE(text);
  Issues issues;
  read_huggingface(text, issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "not_yet_modelled");
  CHECK(issues[0].path == path);
}

TEST_CASE("Hugging Face: a model of these classes with parts that are not theirs") {
  const auto [preset, change, path] = GENERATE(table<const char*, void (*)(Model&), const char*>({
      {"laguna-xs.2", [](Model& m) { m.num_sliding_attention_heads = 60; }, "/model/num_sliding_attention_heads"},
      {"mamba2-130m", [](Model& m) { m.layer_types.clear(); }, "/model/layer_types"},
      {"mamba2-130m", [](Model& m) { m.layer_types = "full_attention,mamba"; }, "/model/layer_types"},
      {"llama2-7b", [](Model& m) { m.num_sliding_attention_heads = 64; }, "/model/num_sliding_attention_heads"},
      {"llama2-7b", [](Model& m) { m.latent_attention.v_head_dim = 64; }, "/model/latent_attention/v_head_dim"},
  }));
  CAPTURE(preset, path);
  Config config;
  Issues issues;
  apply_model_preset(preset, config, issues);
  apply_gpu_preset("h100-sxm", config, issues);
  CHECK(validate(config).empty());
  change(config.model);
  const Issues found = validate(config);
  REQUIRE(!found.empty());
  CHECK(found[0].path == path);
}

// models/cwm/configuration_cwm.py, __post_init__: the first of every four layers attends to all.
TEST_CASE("Hugging Face: a model cut short before its first layer with a window has none") {
  Issues issues;
  const auto window = [&](const std::string& layers) {
    const std::string text = R"({"model_type": "cwm", "num_hidden_layers": )" + layers + "}";
    return read_huggingface(text, issues).sliding_window;
  };
  CHECK(window("1") == 0);
  CHECK(window("2") == 8192);
  CHECK(issues.empty());
}
