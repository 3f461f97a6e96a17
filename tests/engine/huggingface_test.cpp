#include <nlohmann/json.hpp>
#include <string>

#include "engine/accuracy/translate.h"
#include "engine/codec/json_config.h"
#include "engine/config/layer_types.h"
#include "engine/config/values.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/presets/huggingface/config.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

Model read(const char* text, Issues& issues) {
  return model_from_huggingface(huggingface_config(nlohmann::json::parse(text)), issues);
}

/// Paths of the model's fields in which two models differ.
std::string differences(const Model& a, const Model& b) {
  Config left;
  Config right;
  left.model = a;
  right.model = b;
  complete(left);
  complete(right);
  std::string text;
  for (const Field& field : config_fields()) {
    if (std::string(field.path).rfind("/model/", 0) == 0 && !same(field, left, right))
      text += std::string(field.path) + " ";
  }
  return text;
}

}  // namespace

// The texts are the config.json files published with the weights, keys of tokens and initialisers left out.
TEST_CASE("Hugging Face: a published config.json is the model of its preset") {
  const auto [preset, text] = GENERATE(table<std::string, const char*>({
      {"gpt2", R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
        "embd_pdrop": 0.1, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768,
        "n_head": 12, "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1, "vocab_size": 50257})"},
      {"llama3.1-8b", R"({"attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 4096,
        "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
        "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "rope_theta": 500000.0, "tie_word_embeddings": false,
        "vocab_size": 128256})"},
      {"qwen2.5-7b",
       R"({"attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 3584, "intermediate_size": 18944,
        "max_position_embeddings": 131072, "max_window_layers": 28, "model_type": "qwen2", "num_attention_heads": 28,
        "num_hidden_layers": 28, "num_key_value_heads": 4, "sliding_window": 131072, "tie_word_embeddings": false,
        "use_sliding_window": false, "vocab_size": 152064})"},
      {"phi-2", R"({"attention_dropout": 0.0, "embd_pdrop": 0.0, "hidden_act": "gelu_new", "hidden_size": 2560,
        "intermediate_size": 10240, "max_position_embeddings": 2048, "model_type": "phi", "num_attention_heads": 32,
        "num_hidden_layers": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.4, "qk_layernorm": false,
        "resid_pdrop": 0.1, "tie_word_embeddings": false, "vocab_size": 51200})"},
      {"gemma3-1b", R"({"attention_bias": false, "attention_dropout": 0.0, "attn_logit_softcapping": null,
        "final_logit_softcapping": null, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152,
        "intermediate_size": 6912, "max_position_embeddings": 32768, "model_type": "gemma3_text",
        "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1, "sliding_window": 512,
        "sliding_window_pattern": 6, "vocab_size": 262144})"},
      {"mistral-7b-v0.1", R"({"hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
        "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "sliding_window": 4096, "tie_word_embeddings": false, "vocab_size": 32000})"},
      {"opt-1.3b", R"({"activation_dropout": 0.0, "activation_function": "relu", "attention_dropout": 0.0,
        "do_layer_norm_before": true, "dropout": 0.1, "ffn_dim": 8192, "hidden_size": 2048, "layerdrop": 0.0,
        "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 32, "num_hidden_layers": 24,
        "vocab_size": 50272, "word_embed_proj_dim": 2048})"},
      {"falcon-7b",
       R"({"alibi": false, "attention_dropout": 0.0, "bias": false, "hidden_dropout": 0.0, "hidden_size": 4544,
        "model_type": "falcon", "multi_query": true, "new_decoder_architecture": false, "num_attention_heads": 71,
        "num_hidden_layers": 32, "parallel_attn": true, "vocab_size": 65024})"},
      {"falcon-40b",
       R"({"alibi": false, "attention_dropout": 0.0, "bias": false, "hidden_dropout": 0.0, "hidden_size": 8192,
        "model_type": "falcon", "new_decoder_architecture": true, "num_attention_heads": 128, "num_hidden_layers": 60,
        "num_kv_heads": 8, "parallel_attn": true, "vocab_size": 65024})"},
      {"pythia-410m",
       R"({"hidden_act": "gelu", "hidden_size": 1024, "intermediate_size": 4096, "max_position_embeddings": 2048,
        "model_type": "gpt_neox", "num_attention_heads": 16, "num_hidden_layers": 24, "rotary_pct": 0.25,
        "tie_word_embeddings": false, "use_parallel_residual": true, "vocab_size": 50304})"},
      {"qwen3-8b", R"({"attention_bias": false, "attention_dropout": 0.0, "head_dim": 128, "hidden_act": "silu",
        "hidden_size": 4096, "intermediate_size": 12288, "max_position_embeddings": 40960, "max_window_layers": 36,
        "model_type": "qwen3", "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8,
        "sliding_window": null, "tie_word_embeddings": false, "use_sliding_window": false, "vocab_size": 151936})"},
      {"bloom-7b1", R"({"apply_residual_connection_post_layernorm": false, "attention_dropout": 0.0,
        "hidden_dropout": 0.0, "hidden_size": 4096, "model_type": "bloom", "n_layer": 30, "num_attention_heads": 32,
        "vocab_size": 250880})"},
      {"gpt-j-6b", R"({"activation_function": "gelu_new", "attn_pdrop": 0.0, "embd_pdrop": 0.0, "model_type": "gptj",
        "n_embd": 4096, "n_head": 16, "n_inner": null, "n_layer": 28, "n_positions": 2048, "resid_pdrop": 0.0,
        "rotary_dim": 64, "tie_word_embeddings": false, "vocab_size": 50400})"},
      {"command-r-35b",
       R"({"attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 8192,
        "intermediate_size": 22528, "logit_scale": 0.0625, "max_position_embeddings": 8192, "model_max_length": 131072, "model_type": "cohere",
        "num_attention_heads": 64, "num_hidden_layers": 40, "num_key_value_heads": 64, "vocab_size": 256000})"},
      {"gemma2-9b", R"({"attention_bias": false, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0,
        "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 3584, "intermediate_size": 14336,
        "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 16, "num_hidden_layers": 42,
        "num_key_value_heads": 8, "sliding_window": 4096, "vocab_size": 256000})"},
      {"olmo2-7b", R"({"attention_bias": false, "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 11008,
        "max_position_embeddings": 4096, "model_type": "olmo2", "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 32, "tie_word_embeddings": false, "vocab_size": 100352})"},
      {"phi-3-mini", R"({"attention_bias": false, "attention_dropout": 0.0, "embd_pdrop": 0.0, "hidden_act": "silu",
        "hidden_size": 3072, "intermediate_size": 8192, "max_position_embeddings": 4096, "model_type": "phi3",
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "resid_pdrop": 0.0,
        "sliding_window": 2047, "tie_word_embeddings": false, "vocab_size": 32064})"},
      {"starcoder2-15b", R"({"attention_dropout": 0.1, "embedding_dropout": 0.1, "hidden_act": "gelu_pytorch_tanh",
        "hidden_size": 6144, "intermediate_size": 24576, "max_position_embeddings": 16384, "model_type": "starcoder2",
        "num_attention_heads": 48, "num_hidden_layers": 40, "num_key_value_heads": 4, "residual_dropout": 0.1,
        "sliding_window": 4096, "tie_word_embeddings": false, "use_bias": true, "vocab_size": 49152})"},
      {"mixtral-8x7b", R"({"attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 4096,
        "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mixtral",
        "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
        "num_local_experts": 8, "sliding_window": null, "tie_word_embeddings": false, "vocab_size": 32000})"},
      {"qwen3-30b-a3b", R"({"attention_bias": false, "decoder_sparse_step": 1, "head_dim": 128, "hidden_act": "silu",
        "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 40960, "mlp_only_layers": [],
        "model_type": "qwen3_moe", "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts": 128,
        "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4, "sliding_window": null,
        "tie_word_embeddings": false, "use_sliding_window": false, "vocab_size": 151936})"},
      {"olmoe-1b-7b", R"({"attention_bias": false, "hidden_act": "silu", "hidden_size": 2048,
        "intermediate_size": 1024, "max_position_embeddings": 4096, "model_type": "olmoe", "num_attention_heads": 16,
        "num_experts": 64, "num_experts_per_tok": 8, "num_hidden_layers": 16, "num_key_value_heads": 16,
        "tie_word_embeddings": false, "vocab_size": 50304})"},
      {"deepseek-moe-16b", R"({"attention_bias": false, "first_k_dense_replace": 1, "hidden_act": "silu",
        "hidden_size": 2048, "intermediate_size": 10944, "max_position_embeddings": 4096, "model_type": "deepseek",
        "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_routed_experts": 64, "n_shared_experts": 2,
        "num_attention_heads": 16, "num_experts_per_tok": 6, "num_hidden_layers": 28, "num_key_value_heads": 16,
        "tie_word_embeddings": false, "vocab_size": 102400})"},
      {"gpt-oss-120b", R"({"attention_bias": true, "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu",
        "hidden_size": 2880, "intermediate_size": 2880, "max_position_embeddings": 131072, "model_type": "gpt_oss",
        "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 36, "num_key_value_heads": 8,
        "num_local_experts": 128, "sliding_window": 128, "swiglu_limit": 7.0, "tie_word_embeddings": false,
        "vocab_size": 201088})"},
      {"glm-4.5", R"({"attention_bias": true, "first_k_dense_replace": 3, "head_dim": 128, "hidden_act": "silu",
        "hidden_size": 5120, "intermediate_size": 12288, "max_position_embeddings": 131072, "model_type": "glm4_moe",
        "moe_intermediate_size": 1536, "n_routed_experts": 160, "n_shared_experts": 1, "num_attention_heads": 96,
        "num_experts_per_tok": 8, "num_hidden_layers": 92, "num_key_value_heads": 8, "num_nextn_predict_layers": 1,
        "partial_rotary_factor": 0.5, "tie_word_embeddings": false, "use_qk_norm": true, "vocab_size": 151552})"},
      {"llama4-maverick", R"({"attention_bias": false, "attention_chunk_size": 8192, "head_dim": 128,
        "hidden_act": "silu", "hidden_size": 5120, "interleave_moe_layer_step": 2, "intermediate_size": 8192,
        "intermediate_size_mlp": 16384, "max_position_embeddings": 1048576, "model_type": "llama4_text",
        "num_attention_heads": 40, "num_experts_per_tok": 1, "num_hidden_layers": 48, "num_key_value_heads": 8,
        "num_local_experts": 128, "tie_word_embeddings": false, "use_qk_norm": false, "vocab_size": 202048})"},
      {"dbrx", R"({"attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500000}, "d_model": 6144,
        "ffn_config": {"ffn_hidden_size": 10752, "moe_jitter_eps": 0.01, "moe_num_experts": 16, "moe_top_k": 4},
        "max_seq_len": 32768, "model_type": "dbrx", "n_heads": 48, "n_layers": 40, "tie_word_embeddings": false,
        "vocab_size": 100352})"},
  }));
  CAPTURE(preset);
  Issues issues;
  const Model model = read(text, issues);
  Config expected;
  apply_model_preset(preset, expected, issues);
  REQUIRE(issues.empty());
  CHECK(differences(model, expected.model) == "");
}

TEST_CASE("Hugging Face: Apertus and CodeGen have the parameters of their classes") {
  // Counted by torch in tests/traces/other_families.json; each MLP of Apertus has two numbers that its activation
  // learns.
  Issues issues;
  const auto count = [&](const char* text) { return parameter_count(read(text, issues)); };
  CHECK(count(R"({"model_type": "apertus", "vocab_size": 5003, "hidden_size": 256, "num_hidden_layers": 3,
                  "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 640,
                  "hidden_act": "xielu"})") == 4038086);
  CHECK(count(R"({"model_type": "codegen", "vocab_size": 5003, "n_embd": 256, "n_layer": 3, "n_head": 8,
                  "n_positions": 2048, "rotary_dim": 16})") == 4931723);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: BioGPT, XGLM and Persimmon have the parameters of their classes") {
  // Counted by torch in tests/traces/other_classes.json.
  Issues issues;
  const auto count = [&](const char* text) { return parameter_count(read(text, issues)); };
  CHECK(count(R"({"model_type": "biogpt", "vocab_size": 5003, "hidden_size": 256, "num_hidden_layers": 3,
                  "num_attention_heads": 8, "intermediate_size": 640, "max_position_embeddings": 1024})") == 3322240);
  CHECK(count(R"({"model_type": "xglm", "vocab_size": 5003, "d_model": 256, "num_layers": 3, "attention_heads": 8,
                  "ffn_dim": 640})") == 3059584);
  CHECK(count(R"({"model_type": "persimmon", "vocab_size": 5003, "hidden_size": 256, "num_hidden_layers": 3,
                  "num_attention_heads": 8, "intermediate_size": 640})") == 4340736);
  CHECK(count(R"({"model_type": "persimmon", "vocab_size": 211, "hidden_size": 192, "num_hidden_layers": 3,
                  "num_attention_heads": 3, "intermediate_size": 1000, "qk_layernorm": false})") == 1683960);
  CHECK(issues.empty());
  read(R"({"model_type": "biogpt", "activation_dropout": 0.1, "layerdrop": 0.1, "scale_embedding": false})", issues);
  CHECK(issues.size() == 3);
  issues.clear();
  read(R"({"model_type": "xglm", "add_cross_attention": true})", issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].path == "/add_cross_attention");
}

TEST_CASE("Hugging Face: Granite with windows has sinks, and every fourth layer attends to all") {
  // Counted by torch in tests/traces/other_classes.json.
  Issues issues;
  const Model model = read(R"({"model_type": "granite_swa", "vocab_size": 5003, "hidden_size": 256,
      "num_hidden_layers": 5, "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 640,
      "layer_rope_theta": [10000.0, 10000.0, 10000.0, 10000.0, 10000.0]})",
                           issues);
  CHECK(issues.empty());
  CHECK(parameter_count(model) == 4560424);
  CHECK(model.sliding_window == 128);
  for (const std::int64_t layer : {0, 4}) CHECK(layer_type(model, layer) == LayerType::full_attention);
  for (const std::int64_t layer : {1, 2, 3}) CHECK(layer_type(model, layer) == LayerType::sliding_attention);
  const Model of_experts = read(R"({"model_type": "granitemoe_swa", "vocab_size": 211, "hidden_size": 192,
      "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 6, "intermediate_size": 100,
      "shared_intermediate_size": 200, "num_local_experts": 4, "tie_word_embeddings": true})",
                                issues);
  CHECK(issues.empty());
  CHECK(parameter_count(of_experts) == 1523346);
  read(R"({"model_type": "granite_swa", "num_hidden_layers": 2, "layer_rope_theta": [0, 10000.0]})", issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].path == "/layer_rope_theta");
}

TEST_CASE("Hugging Face: VaultGemma is Gemma 2 with two norms in a layer") {
  // Counted by torch in tests/traces/other_families.json.
  Issues issues;
  const Model model = read(R"({"model_type": "vaultgemma", "vocab_size": 5003, "hidden_size": 256, "head_dim": 64,
      "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 640,
      "layer_types": ["full_attention", "full_attention", "full_attention"]})",
                           issues);
  CHECK(issues.empty());
  CHECK(parameter_count(model) == 3740160);
  CHECK(model.sliding_window == 0);
  CHECK(model.final_logit_softcapping == 30.0);
  CHECK(model.tie_word_embeddings);
}

TEST_CASE("Hugging Face: the experts' width of DBRX, whichever of its two names it has") {
  // Counted by torch in tests/traces/other_families.json; a configuration that release 5 runs has it as hidden_size.
  Issues issues;
  const auto count = [&](const std::string& widths) {
    const std::string text = R"({"model_type": "dbrx", "d_model": 256, "n_heads": 8, "n_layers": 3,
        "max_seq_len": 2048, "vocab_size": 5003, "attn_config": {"kv_n_heads": 2}, "ffn_config": {)" +
                             widths + R"(, "moe_num_experts": 4, "moe_top_k": 2}})";
    return parameter_count(read(text.c_str(), issues));
  };
  CHECK(count(R"("ffn_hidden_size": 256, "hidden_size": 640)") == 8956160);
  CHECK(count(R"("ffn_hidden_size": 640, "hidden_size": 6144)") == 8956160);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: a class that is not known and an unknown activation are issues") {
  Issues issues;
  read(R"({"model_type": "zamba"})", issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "not_yet_modelled");
  CHECK(issues[0].path == "/model_type");
  CHECK(issues[0].message.find("state-space") != std::string::npos);
  issues.clear();
  read(R"({"model_type": "deepseek_v4"})", issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "not_yet_modelled");
  CHECK(issues[0].message.find("several residual streams") != std::string::npos);
  issues.clear();
  read(R"({"model_type": "unheard_of"})", issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].hint.find("give that model_type") != std::string::npos);
  issues.clear();
  read(R"({"model_type": "llama", "hidden_act": "mish"})", issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].path == "/hidden_act");
  issues.clear();
  read(R"({"hidden_size": 64})", issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "missing");
}

TEST_CASE("Hugging Face: of a model that sees, the language model is read, and whether it is tied") {
  // Qwen/Qwen2.5-VL-7B-Instruct and Qwen/Qwen2.5-VL-3B-Instruct, config.json as older releases write it: keys of the
  // language model beside vision_config.
  Issues issues;
  const char* older = R"({"architectures": ["Qwen2_5_VLForConditionalGeneration"], "model_type": "qwen2_5_vl",
    "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": false, "use_sliding_window": false,
    "vision_config": {"hidden_size": 1280}})";
  const Config config = read_config(older).config;
  CHECK(config.model.model_type == "qwen2_5_vl_text");
  CHECK(config.model.hidden_size == 3584);
  CHECK(config.model.attention_bias);
  CHECK_FALSE(config.model.tie_word_embeddings);
  const char* nested = R"({"architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3",
    "tie_word_embeddings": true, "text_config": {"model_type": "mistral", "hidden_size": 5120,
    "intermediate_size": 32768, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": 128, "vocab_size": 131072, "sliding_window": null}, "vision_config": {"hidden_size": 1024}})";
  const ReadConfig read = read_config(nested);
  CHECK(read.issues.empty());
  CHECK(read.config.model.model_type == "mistral");
  CHECK(read.config.model.hidden_size == 5120);
  CHECK(read.config.model.tie_word_embeddings);
}

TEST_CASE("Hugging Face: lists of layers are read where the class has layers of several kinds") {
  Issues issues;
  const char* dense = R"({"model_type": "granitemoehybrid", "num_hidden_layers": 2, "num_local_experts": 0,
    "shared_intermediate_size": 8192, "position_embedding_type": "rope", "layer_types": ["attention", "attention"]})";
  CHECK(read(dense, issues).intermediate_size == 8192);
  CHECK(issues.empty());
  const char* hybrid =
      R"({"model_type": "granitemoehybrid", "num_hidden_layers": 3, "hidden_size": 1536, "mamba_n_heads": 48,
    "mamba_d_state": 128, "num_local_experts": 64, "num_experts_per_tok": 6, "intermediate_size": 512,
    "shared_intermediate_size": 1024, "layer_types": ["mamba", "mamba", "attention"]})";
  const Model granite = read(hybrid, issues);
  CHECK(granite.layer_types == "2*mamba,full_attention");
  CHECK(granite.mamba.d_head == 64);  // mamba_expand * hidden_size / mamba_n_heads
  CHECK(granite.positions == Positions::none);
  CHECK(granite.experts.num_experts == 64);
  CHECK(granite.experts.shared_expert_intermediate_size == 1024);
  // LiquidAI/LFM2-1.2B: the class names full_attn_idxs and block_ff_dim otherwise.
  const char* lfm2 = R"({"model_type": "lfm2", "num_hidden_layers": 6, "block_ff_dim": 12288, "intermediate_size": 1,
    "block_multiple_of": 256, "full_attn_idxs": [2, 5], "conv_L_cache": 3, "tie_embedding": false})";
  const Model liquid = read(lfm2, issues);
  CHECK(liquid.layer_types == "2*conv,full_attention");
  CHECK(liquid.intermediate_size == 8192);
  CHECK_FALSE(liquid.tie_word_embeddings);
  CHECK(issues.empty());
  // Qwen/Qwen3-Next-80B-A3B-Instruct says an interval where others list; Qwen/Qwen3.5-27B's language model lists.
  const Model next = read(R"({"model_type": "qwen3_next", "full_attention_interval": 4, "linear_num_value_heads": 32,
    "linear_key_head_dim": 128, "num_experts": 512, "num_experts_per_tok": 10})",
                          issues);
  CHECK(next.layer_types == "3*linear_attention,full_attention");
  CHECK(next.linear_attention.linear_num_value_heads == 32);
  CHECK(next.partial_rotary_factor == 0.25);
  CHECK(parameter_count(next) == 79674391296);  // safetensors.total of Qwen/Qwen3-Coder-Next
  const Model listed = read(R"({"model_type": "qwen3_5_text", "num_hidden_layers": 4, "linear_num_value_heads": 48,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"]})",
                            issues);
  CHECK(listed.layer_types == "3*linear_attention,full_attention");
  CHECK(listed.linear_attention.linear_num_value_heads == 48);
  CHECK(issues.empty());
  // LGAI-EXAONE/EXAONE-4.0-32B writes its pattern as letters; tencent/Hunyuan-A13B a number for each layer.
  CHECK(read(R"({"model_type": "exaone4", "sliding_window_pattern": "LLLG"})", issues).sliding_window_pattern == 4);
  CHECK(read(R"({"model_type": "hunyuan_v1_moe", "num_experts": 64, "moe_topk": [8, 8]})", issues)
            .experts.num_experts_per_tok == 8);
  CHECK(issues.empty());
}
