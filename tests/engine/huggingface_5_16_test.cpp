// config.json of classes of transformers 5.16, and of language models of those that see. Counts are those of the
// classes themselves, made without data.
#include <nlohmann/json.hpp>
#include <string>

#include "engine/accuracy/translate.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/huggingface/config.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

Model read(const std::string& text, Issues& issues) {
  return model_from_huggingface(huggingface_config(nlohmann::json::parse(text)), issues);
}

/// Buffers that balance the load are no parameters of a class.
std::int64_t trained_parameters(const Model& model) {
  std::int64_t count = 0;
  for (const ParameterTensor& tensor : parameters(model))
    if (tensor.trainable && tensor.tied_to == nullptr) count += tensor.elements();
  return count;
}

}  // namespace

TEST_CASE("Hugging Face: classes of 5.16 have as many parameters as transformers counts") {
  const auto [text, expected] = GENERATE(table<std::string, std::int64_t>({
      {R"({"model_type": "glm4v_text", "vocab_size": 151552, "hidden_size": 4096, "num_hidden_layers": 40,
        "intermediate_size": 13696, "num_attention_heads": 32, "num_key_value_heads": 2, "attention_bias": true,
        "partial_rotary_factor": 0.5})",
       9400279040},
      {R"({"model_type": "glm4v_moe_text", "vocab_size": 151552, "head_dim": 128, "attention_bias": true,
        "first_k_dense_replace": 1, "hidden_size": 4096, "intermediate_size": 10944, "moe_intermediate_size": 1408,
        "n_routed_experts": 128, "n_shared_experts": 1, "num_attention_heads": 96, "num_experts_per_tok": 8,
        "num_hidden_layers": 46, "num_key_value_heads": 8, "use_qk_norm": false})",
       106852245504},
      {R"({"model_type": "glm_ocr_text", "vocab_size": 59392, "head_dim": 128, "hidden_size": 1536,
        "intermediate_size": 4608, "num_attention_heads": 16, "num_hidden_layers": 16, "num_key_value_heads": 8,
        "attention_bias": false, "rope_parameters": {"partial_rotary_factor": 1.0}})",
       673285632},
      {R"({"model_type": "paddleocr_vl", "hidden_size": 1024, "num_hidden_layers": 18, "num_attention_heads": 16,
        "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 103424,
        "tie_word_embeddings": false, "sliding_window": null})",
       466654208},
      {R"({"model_type": "qwen3_omni_moe_text", "vocab_size": 152064, "hidden_size": 2048, "num_hidden_layers": 48,
        "intermediate_size": 768, "moe_intermediate_size": 768, "num_attention_heads": 32, "num_key_value_heads": 4,
        "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1,
        "sliding_window": null})",
       30532646912},
      {R"({"model_type": "cohere2_moe", "vocab_size": 262144, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 128, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 4096,
        "num_experts": 128, "num_experts_per_tok": 8, "num_shared_experts": 4, "expert_selection_fn": "sigmoid"})",
       218254938112},
      {R"({"model_type": "cohere2_moe", "hidden_size": 1024, "num_hidden_layers": 6, "num_attention_heads": 8,
        "num_key_value_heads": 2, "intermediate_size": 512, "num_experts": 16, "first_k_dense_replace": 2,
        "prefix_dense_intermediate_size": 3072, "num_shared_experts": 1, "expert_selection_fn": "sigmoid"})",
       403774464},
      {R"({"model_type": "axk1"})", 518983052288},
      {R"({"model_type": "hyperclovax"})", 6738677760},
      {R"({"model_type": "mistral4"})", 118972826624},
  }));
  CAPTURE(text);
  Issues issues;
  const Model model = read(text, issues);
  CHECK(issues.empty());
  CHECK(trained_parameters(model) == expected);
}

TEST_CASE("Hugging Face: which layers of Command A with experts slide") {
  Issues issues;
  const Model regular = read(R"({"model_type": "cohere2_moe", "expert_selection_fn": "sigmoid"})", issues);
  CHECK(regular.sliding_window_pattern == 4);
  CHECK(regular.layer_types.empty());
  const Model dense_first = read(
      R"({"model_type": "cohere2_moe", "expert_selection_fn": "sigmoid", "num_hidden_layers": 6,
        "first_k_dense_replace": 1})",
      issues);
  CHECK(dense_first.layer_types == "full_attention,3*sliding_attention,full_attention,sliding_attention");
  CHECK(dense_first.intermediate_size == 22528);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: what classes of 5.16 can say and no forward does") {
  const auto [text, path] = GENERATE(table<const char*, const char*>({
      {R"({"model_type": "cohere2_moe"})", "/expert_selection_fn"},
      {R"({"model_type": "cohere2_moe", "expert_selection_fn": "sigmoid", "norm_topk_prob": false})",
       "/norm_topk_prob"},
      {R"({"model_type": "cohere2_moe", "expert_selection_fn": "sigmoid",
        "shared_expert_combination_strategy": "sum"})",
       "/shared_expert_combination_strategy"},
      {R"({"model_type": "cohere2_moe", "expert_selection_fn": "sigmoid", "rms_norm_eps": 1e-5})", "/rms_norm_eps"},
      {R"({"model_type": "cohere2_moe", "expert_selection_fn": "sigmoid", "prefix_dense_sliding_window_pattern": 4})",
       "/prefix_dense_sliding_window_pattern"},
      {R"({"model_type": "hyperclovax", "use_post_norm": false})", "/use_post_norm"},
      {R"({"model_type": "axk1", "rope_interleave": false})", "/rope_interleave"},
      {R"({"model_type": "mistral4", "rope_interleave": false})", "/rope_interleave"},
      {R"({"model_type": "longcat_flash"})", "/model_type"},
      {R"({"model_type": "granitemoe_swa", "num_hidden_layers": 2, "layer_rope_theta": [0, 1.0]})",
       "/layer_rope_theta"},
  }));
  CAPTURE(text);
  Issues issues;
  read(text, issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "not_yet_modelled");
  CHECK(issues[0].path == path);
}
