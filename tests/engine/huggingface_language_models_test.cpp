// config.json of classes that read few keys otherwise than their relatives: DeepSeek-OCR, HunyuanOCR, Muse Glimmer,
// Cosmos 3 Edge, Step, Emu3, DiffLlama, JetMoE, and windows and dense layers of some layers.
#include <cstdint>
#include <string>

#include "engine/config/layer_types.h"
#include "engine/parameters/parameters.h"
#include "tests/catch.h"
#include "tests/huggingface_models.h"

using namespace trainmem;

namespace {

// In the form of deepseek-ai/DeepSeek-OCR config.json, language_config: it names a class, but no model_type. The sizes
// are those of the preset.
const std::string deepseek_ocr = R"({"architectures": ["DeepseekV2ForCausalLM"], "first_k_dense_replace": 1,
  "hidden_size": 1280, "intermediate_size": 6848, "kv_lora_rank": null, "max_position_embeddings": 8192,
  "moe_intermediate_size": 896, "n_group": 1, "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 10,
  "num_experts_per_tok": 6, "num_hidden_layers": 12, "num_key_value_heads": 10, "q_lora_rank": null,
  "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "topk_group": 1, "topk_method": "greedy", "use_mla": false,
  "v_head_dim": 0, "vocab_size": 129280})";

std::string layers_of(const Model& model) {
  std::string kinds;
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i)
    kinds += layer_type(model, i) == LayerType::sliding_attention ? 's' : 'f';
  return kinds;
}

std::string experts_of(const Model& model) {
  std::string kinds;
  for (std::int64_t i = 0; i < model.num_hidden_layers; ++i) kinds += layer_kind(model, i).experts ? 'e' : '.';
  return kinds;
}

Model model_of(const std::string& text) {
  Issues issues;
  const Model model = read_huggingface(text, issues);
  CAPTURE(text);
  CHECK(issues.empty());
  return model;
}

}  // namespace

TEST_CASE("Hugging Face: Muse Glimmer, Cosmos 3 Edge and DeepSeek-OCR are the models of their presets") {
  const auto [preset, text] = GENERATE(table<std::string, std::string>({
      {"muse-glimmer-30b", R"({"model_type": "muse_glimmer_text"})"},
      {"cosmos3-edge", R"({"model_type": "cosmos3_edge_text"})"},
      {"deepseek-ocr", deepseek_ocr},
  }));
  CAPTURE(preset);
  Issues issues;
  CHECK(differences_from_preset(text, preset, issues).empty());
  CHECK(issues.empty());
}

// Counted by transformers 5.16 itself, of models on the meta device; Step's corrections of the load are buffers there,
// 288 in each layer with experts.
TEST_CASE("Hugging Face: parameters of further language models") {
  const auto [text, count] = GENERATE(table<std::string, std::int64_t>({
      {R"({"model_type": "muse_glimmer_text"})", 27'854'780'928},
      {R"({"model_type": "cosmos3_edge_text"})", 1'946'273'792},
      {R"({"model_type": "emu3_text_model"})", 8'492'011'520},
      {R"({"model_type": "diffllama"})", 1'204'885'504},
      {deepseek_ocr, 2'934'734'080},
      {R"({"model_type": "jetmoe", "num_hidden_layers": 24})", 8'522'237'952},  // jetmoe/jetmoe-8b
      {R"({"model_type": "step3p5", "sliding_window": 512, "vocab_size": 128896, "attention_other_setting":
          {"num_attention_heads": 96}, "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
          "sliding_attention", "full_attention"], "num_hidden_layers": 5, "moe_layers_enum": "3,4"})",
       11'044'566'272 + 2 * 288},
  }));
  CHECK(parameter_count(model_of(text)) == count);
}

// models/{qwen2,qwen3,smollm3,muse_glimmer,step3p7}/configuration_*.py: layer_types as the classes make them.
TEST_CASE("Hugging Face: which layers have a window") {
  const auto [text, kinds] = GENERATE(table<std::string, std::string>({
      {R"({"model_type": "qwen2", "num_hidden_layers": 5, "use_sliding_window": true, "sliding_window": 64,
          "max_window_layers": 3})",
       "fffss"},
      {R"({"model_type": "qwen3", "num_hidden_layers": 4, "use_sliding_window": true, "sliding_window": 64,
          "max_window_layers": 4})",
       "ffff"},
      {R"({"model_type": "smollm3", "num_hidden_layers": 5, "use_sliding_window": true, "sliding_window": 64,
          "no_rope_layer_interval": 2})",
       "fsfsf"},
      {R"({"model_type": "smollm3", "num_hidden_layers": 4, "sliding_window": 64})", "ffff"},
      {R"({"model_type": "muse_glimmer_text", "num_hidden_layers": 6})", "sfsssf"},
      {R"({"model_type": "cohere_compass_text", "num_hidden_layers": 4})", "ffff"},
      {R"({"model_type": "cohere2", "num_hidden_layers": 3, "sliding_window": 64, "layer_types": ["full_attention",
          "full_attention", "sliding_attention"]})",
       "ffs"},
  }));
  CHECK(layers_of(model_of(text)) == kinds);
}

// models/qwen3_moe/modeling_qwen3_moe.py: Qwen3MoeDecoderLayer; models/step3p7: moe_layers_enum.
TEST_CASE("Hugging Face: dense layers before those with experts") {
  const auto [text, kinds] = GENERATE(table<std::string, std::string>({
      {R"({"model_type": "qwen3_moe", "num_hidden_layers": 6, "decoder_sparse_step": 2, "mlp_only_layers": [0, 1]})",
       "...e.e"},
      {R"({"model_type": "qwen3_moe", "num_hidden_layers": 4, "decoder_sparse_step": 2, "mlp_only_layers": [0]})",
       ".e.e"},
      {R"({"model_type": "qwen2_moe", "num_hidden_layers": 4, "mlp_only_layers": [1, 0]})", "..ee"},
      {R"({"model_type": "step3p5", "num_hidden_layers": 4, "moe_layers_enum": "2,3,4"})", "..ee"},
  }));
  CHECK(experts_of(model_of(text)) == kinds);
}

TEST_CASE("Hugging Face: what of these classes is refused") {
  const auto [text, path] = GENERATE(table<std::string, std::string>({
      {R"({"model_type": "qwen3_moe", "num_hidden_layers": 4, "mlp_only_layers": [2]})", "/mlp_only_layers"},
      {R"({"model_type": "step3p5", "num_hidden_layers": 6, "moe_layers_enum": "2,4,5"})", "/moe_layers_enum"},
      {R"({"model_type": "muse_glimmer_text", "num_hidden_layers": 4, "layer_rope_theta": [10000, 10000, 10000, 10000]})",
       "/layer_rope_theta"},
  }));
  Issues issues;
  read_huggingface(text, issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].path == path);
}

TEST_CASE("Hugging Face: OPT's norms may have no weights, and DeepSeek V3 takes no heed of output_router_logits") {
  const Model opt = model_of(R"({"model_type": "opt", "layer_norm_elementwise_affine": false})");
  CHECK_FALSE(opt.norm_weight);
  CHECK(parameter_count(opt) == 125'239'296 - (2 * 12 + 1) * 2 * 768);  // facebook/opt-125m without its norms
  CHECK(model_of(R"({"model_type": "deepseek_v3", "output_router_logits": true})").experts.router_auxiliary_loss ==
        RouterAuxiliaryLoss::none);
  CHECK(model_of(R"({"model_type": "mixtral", "output_router_logits": true})").experts.router_auxiliary_loss ==
        RouterAuxiliaryLoss::unmasked);
}
