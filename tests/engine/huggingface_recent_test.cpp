// config.json of classes that are new in transformers 5.
#include <string>

#include "engine/config/values.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/presets/huggingface/config.h"
#include "tests/catch.h"
#include "tests/huggingface_models.h"

using namespace trainmem;

namespace {

/// `times` a list of words of a configuration.
std::string listed(const std::string& words, int times) {
  std::string list = "[";
  for (int i = 0; i < times; ++i) list += (i > 0 ? ", " : "") + words;
  return list + "]";
}

}  // namespace

// Keys of tokens, initialisers, epsilons and RoPE's base are left out.
TEST_CASE("Hugging Face: a published config.json of a new class is the model of its preset") {
  const std::string three_slide = R"("sliding_attention", "sliding_attention", "sliding_attention", "full_attention")";
  const auto [preset, text] = GENERATE_COPY(table<std::string, std::string>({
      {"trinity-nano", R"({"attention_dropout": 0.0, "global_attn_every_n_layers": 4, "head_dim": 128,
        "hidden_act": "silu", "hidden_size": 1024, "intermediate_size": 3072, "max_position_embeddings": 131072,
        "model_type": "afmoe", "moe_intermediate_size": 256, "mup_enabled": true, "n_group": 1,
        "num_attention_heads": 8, "num_dense_layers": 2, "num_expert_groups": 1, "num_experts": 128,
        "num_experts_per_tok": 8, "num_hidden_layers": 56, "num_key_value_heads": 2, "num_limited_groups": 1,
        "num_shared_experts": 1, "route_norm": true, "route_scale": 2.826, "score_func": "sigmoid",
        "sliding_window": 2048, "tie_word_embeddings": false, "topk_group": 1, "vocab_size": 200192,
        "layer_types": )" + listed(three_slide, 14) +
                           "}"},
      {"hy3", R"({"model_type": "hy_v3", "num_hidden_layers": 80, "hidden_size": 4096, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 262144, "qk_norm": true,
        "vocab_size": 120832, "intermediate_size": 13312, "first_k_dense_replace": 1, "num_experts": 192,
        "num_experts_per_tok": 8, "num_shared_experts": 1, "expert_hidden_dim": 1536, "moe_intermediate_size": 1536,
        "router_scaling_factor": 2.826, "tie_word_embeddings": false})"},
      {"youtu-llm-2b", R"({"model_type": "youtu", "hidden_size": 2048, "num_attention_heads": 16,
        "num_key_value_heads": 16, "num_hidden_layers": 32, "intermediate_size": 6144, "kv_lora_rank": 512,
        "q_lora_rank": 1536, "qk_head_dim": 192, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "rope_interleave": true, "tie_word_embeddings": true, "vocab_size": 128256})"},
      {"minicpm3-4b", R"({"model_type": "minicpm3", "hidden_size": 2560, "num_hidden_layers": 62,
        "num_attention_heads": 40, "num_key_value_heads": 40, "intermediate_size": 6400, "vocab_size": 73448,
        "q_lora_rank": 768, "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32,
        "max_position_embeddings": 32768})"},
      {"mellum2-12b-a2.5b", R"({"attention_bias": false, "attention_dropout": 0.0, "head_dim": 128,
        "hidden_act": "silu", "hidden_size": 2304, "intermediate_size": 7168, "max_position_embeddings": 131072,
        "max_window_layers": 0, "model_type": "mellum", "moe_intermediate_size": 896, "norm_topk_prob": true,
        "num_attention_heads": 32, "num_experts": 64, "num_experts_per_tok": 8, "num_hidden_layers": 28,
        "num_key_value_heads": 4, "sliding_window": 1024, "tie_word_embeddings": false, "use_sliding_window": true,
        "vocab_size": 98304, "layer_types": )" +
                                listed(three_slide, 7) + R"(, "mlp_layer_types": )" + listed("\"sparse\"", 28) + "}"},
      {"glm-5", R"({"model_type": "glm_moe_dsa", "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048,
        "num_hidden_layers": 78, "hidden_size": 6144, "first_k_dense_replace": 3})"},
      {"deepseek-v3.2", R"({"model_type": "deepseek_v32", "index_n_heads": 64, "index_topk": 2048})"},
      {"cwm-32b", R"({"model_type": "cwm", "num_hidden_layers": 64})"},
      {"jais-2-8b", R"({"model_type": "jais2"})"},
  }));
  CAPTURE(preset);
  Issues issues;
  CHECK(differences_from_preset(text, preset, issues).empty());
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: what new classes can say and no forward does") {
  const auto [text, path] = GENERATE(table<const char*, const char*>({
      {R"({"model_type": "youtu", "rope_interleave": false})", "/rope_interleave"},
      {R"({"model_type": "afmoe"})", "/mup_enabled"},
      {R"({"model_type": "hy_v3", "enable_moe_fp32_combine": false})", "/enable_moe_fp32_combine"},
      {R"({"model_type": "deepseek_v32", "index_topk": 1024})", "/index_topk"},
      {R"({"model_type": "glm_moe_dsa", "num_hidden_layers": 4, "indexer_types": ["full", "full", "shared", "full"]})",
       "/indexer_types"},
      {R"({"model_type": "hy_v3", "num_hidden_layers": 3, "mlp_layer_types": ["sparse", "dense", "sparse"]})",
       "/mlp_layer_types"},
  }));
  CAPTURE(text);
  Issues issues;
  read_huggingface(text, issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "not_yet_modelled");
  CHECK(issues[0].path == path);
}

TEST_CASE("Hugging Face: lists of dense layers and layers with experts") {
  Issues issues;
  const Model model = read_huggingface(
      R"({"model_type": "hy_v3", "num_hidden_layers": 4, "mlp_layer_types": ["dense", "dense", "sparse", "sparse"]})",
      issues);
  CHECK(model.experts.first_k_dense_replace == 2);
  CHECK(issues.empty());
}
