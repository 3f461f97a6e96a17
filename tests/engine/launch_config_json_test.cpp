// A config.json that is brought: every key that decides something says what, nested ones and other names too.
#include <algorithm>
#include <string>

#include "engine/launch/import.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

/// "path = value" of all that the key decides; "unused: why" if that is nothing.
std::string decides(const Import& import, const std::string& key) {
  std::string out;
  for (const AppliedKey& one : import.applied) {
    if (one.key == key) out += (out.empty() ? "" : ", ") + one.path + " = " + one.set;
  }
  for (const UnusedKey& one : import.unused) {
    if (one.key == key) out += "unused: " + one.why;
  }
  return out;
}

}  // namespace

// huggingface.co/openai-community/gpt2 and mistralai/Mixtral-8x7B-v0.1, config.json
TEST_CASE("config.json: names of older classes, and of experts") {
  const Import gpt2 = import_text(R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
    "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768,
    "n_head": 12, "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1, "vocab_size": 50257,
    "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}})");
  CHECK(decides(gpt2, "n_embd") == "/model/hidden_size = 768");
  CHECK(decides(gpt2, "n_layer") == "/model/num_hidden_layers = 12");
  CHECK(decides(gpt2, "attn_pdrop") == "/model/attention_dropout = 0.1");
  CHECK(decides(gpt2, "activation_function") == "/model/hidden_act = gelu_new");
  CHECK(decides(gpt2, "bos_token_id") == "unused: ");
  CHECK(decides(gpt2, "task_specific_params") == "unused: ");  // once, not by its parts
  const Import mixtral = import_text(R"({"architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
    "num_experts_per_tok": 2, "num_local_experts": 8, "output_router_logits": false, "rope_theta": 1000000.0,
    "sliding_window": null, "torch_dtype": "bfloat16"})");
  CHECK(decides(mixtral, "num_local_experts") == "/model/experts/num_experts = 8");
  CHECK(decides(mixtral, "num_experts_per_tok") == "/model/experts/num_experts_per_tok = 2");
  CHECK(decides(mixtral, "output_router_logits") == "/model/experts/router_auxiliary_loss = none");
  CHECK(decides(mixtral, "torch_dtype").find("Precision") != std::string::npos);
}

TEST_CASE("config.json: nested keys stand with the names of what holds them") {
  const Import seeing = import_text(R"({"architectures": ["Qwen3VLForConditionalGeneration"], "model_type": "qwen3_vl",
    "tie_word_embeddings": true, "vision_config": {"depth": 24}, "text_config": {"model_type": "qwen3_vl_text",
    "hidden_size": 2560, "rope_scaling": {"mrope_section": [24, 20, 20], "rope_type": "default"}}})");
  CHECK(decides(seeing, "text_config.hidden_size") == "/model/hidden_size = 2560");
  CHECK(decides(seeing, "tie_word_embeddings") == "/model/tie_word_embeddings = 1");
  CHECK(decides(seeing, "text_config.rope_scaling") == "unused: ");
  CHECK(decides(seeing, "vision_config") == "unused: Only the language model is counted.");
  const Import phi = import_text(R"({"architectures": ["x"], "model_type": "phi",
    "rope_parameters": {"partial_rotary_factor": 0.25, "rope_theta": 10000.0}})");
  CHECK(decides(phi, "rope_parameters.partial_rotary_factor") == "/model/partial_rotary_factor = 0.25");
  CHECK(decides(phi, "rope_parameters.rope_theta") == "unused: ");
}

TEST_CASE("config.json: lists of layers are one key") {
  const Import import = import_text(R"({"architectures": ["x"], "model_type": "qwen3_next", "num_hidden_layers": 4,
    "layer_types": ["linear_attention", "full_attention", "linear_attention", "full_attention"]})");
  CHECK(decides(import, "layer_types").rfind("/model/layer_types = ", 0) == 0);
  CHECK(std::none_of(import.unused.begin(), import.unused.end(),
                     [](const UnusedKey& one) { return one.key.find("layer_types") != std::string::npos; }));
  std::string wide = R"({"architectures": ["x"], "model_type": "llama")";
  for (int i = 0; i < 15000; ++i) wide += ",\"k" + std::to_string(i) + "\": 1";
  CHECK(import_text(wide + "}").unused.size() == 15001);  // with architectures
}
