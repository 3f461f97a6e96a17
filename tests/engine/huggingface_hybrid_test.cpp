// config.json files of classes whose layers are of several kinds.
#include <nlohmann/json.hpp>
#include <string>

#include "engine/accuracy/translate.h"
#include "engine/modelled/modelled.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/huggingface/config.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

Model read(const char* text, Issues& issues) {
  return model_from_huggingface(huggingface_config(nlohmann::json::parse(text)), issues);
}

}  // namespace

TEST_CASE("Hugging Face: Nemotron-H's letters and lists name its layers") {
  Issues issues;
  // nvidia/NVIDIA-Nemotron-Nano-9B-v2
  const Model nano = read(R"({"model_type": "nemotron_h", "hidden_size": 4480, "intermediate_size": 15680,
    "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131072,
    "num_hidden_layers": 56, "mamba_num_heads": 128, "mamba_head_dim": 80, "ssm_state_size": 128, "n_groups": 8,
    "conv_kernel": 4, "chunk_size": 128, "use_conv_bias": true, "use_bias": false, "mlp_hidden_act": "relu2",
    "mamba_hidden_act": "silu",
    "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"})",
                          issues);
  CHECK(nano.num_hidden_layers == 56);
  CHECK(nano.hidden_act == Activation::relu2);
  CHECK(nano.experts.num_experts == 0);
  CHECK(parameter_count(nano) == 8888227328);  // safetensors.total of the model
  // nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16, as a list of today's words and of older ones
  for (const char* names :
       {R"(["mamba", "moe", "attention", "moe"])", R"(["linear_attention", "moe", "full_attention", "moe"])"}) {
    const std::string text = std::string(R"({"model_type": "nemotron_h", "hidden_size": 2688, "n_routed_experts": 128,
      "num_experts_per_tok": 6, "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712,
      "mamba_num_heads": 64, "num_nextn_predict_layers": 1, "layers_block_type": )") +
                             names + "}";
    const Model listed = read(text.c_str(), issues);
    CHECK(listed.num_hidden_layers == 4);
    CHECK(listed.layer_types == "mamba,moe,full_attention,moe");
    CHECK(listed.experts.num_experts == 128);
    CHECK(listed.experts.shared_expert_intermediate_size == 3712);
    CHECK(listed.num_nextn_predict_layers == 0);
    CHECK(layer_kind(listed, 1).experts);
    CHECK_FALSE(layer_kind(listed, 0).experts);
  }
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: LFM2 with experts") {
  Issues issues;
  // LiquidAI/LFM2-8B-A1B
  const Model model = read(R"({"model_type": "lfm2_moe", "hidden_size": 2048, "intermediate_size": 7168,
    "moe_intermediate_size": 1792, "num_dense_layers": 2, "num_experts": 32, "num_experts_per_tok": 4,
    "num_hidden_layers": 24, "use_expert_bias": true, "norm_topk_prob": true, "layer_types": ["conv", "conv",
    "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "conv", "full_attention", "conv",
    "conv", "conv", "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "full_attention",
    "conv", "conv"]})",
                           issues);
  CHECK(issues.empty());
  CHECK(model.experts.first_k_dense_replace == 2);
  CHECK(parameter_count(model) == 8339930560);  // the Hub's count, with 704 corrections of scores
  read(R"({"model_type": "lfm2_moe", "use_expert_bias": false})", issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].code == "not_yet_modelled");
}

TEST_CASE("Hugging Face: Mamba beside attention, in every layer and in most") {
  Issues issues;
  // tiiuae/Falcon-H1-0.5B-Base
  const Model falcon = read(R"({"model_type": "falcon_h1", "hidden_size": 1024, "intermediate_size": 2048,
    "head_dim": 64, "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 36, "vocab_size": 32784,
    "mamba_d_ssm": 1536, "mamba_n_heads": 24, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1,
    "mamba_chunk_size": 128, "mamba_rms_norm": false, "projectors_bias": false, "tie_word_embeddings": false})",
                            issues);
  CHECK(issues.empty());
  CHECK(falcon.layer_types == "hybrid");
  CHECK_FALSE(falcon.mamba.gated_norm);
  CHECK(parameter_count(falcon) == 521411104);  // as transformers 5.16 counts it
  const Model bamba = read(R"({"model_type": "bamba", "vocab_size": 128256, "attn_layer_indices": [9, 18, 27],
    "mamba_n_heads": 128, "mamba_d_head": "auto", "mamba_d_state": 128})",
                           issues);
  CHECK(issues.empty());
  CHECK(bamba.mamba.d_head == 64);
  CHECK(bamba.partial_rotary_factor == 0.5);
  CHECK(bamba.layer_types == "9*mamba,2*(full_attention,8*mamba),full_attention,4*mamba");
  CHECK(parameter_count(bamba) == 9780235392);  // as transformers 5.16 counts it; 9.78B by its model card
  // What release 5 saves of Granite 4 calls Mamba linear attention.
  const Model granite = read(R"({"model_type": "granitemoehybrid", "num_hidden_layers": 2, "num_local_experts": 0,
    "layer_types": ["linear_attention", "full_attention"]})",
                             issues);
  CHECK(granite.layer_types == "mamba,full_attention");
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: OLMo hybrid has no positions where its configuration gives a base of null") {
  Issues issues;
  const Model model = read(R"({"model_type": "olmo_hybrid", "rope_parameters": {"rope_type": "default",
    "rope_theta": null}})",
                           issues);
  CHECK(issues.empty());
  CHECK(model.positions == Positions::none);
  CHECK(model.linear_attention.linear_key_head_dim == 96);
  CHECK(model.linear_attention.linear_value_head_dim == 192);
  for (const char* text : {R"({"model_type": "olmo_hybrid", "rope_parameters": {"rope_theta": 500000.0}})",
                           R"({"model_type": "olmo_hybrid", "rope_parameters": null})"})
    CHECK(read(text, issues).positions == Positions::rope);
  CHECK(read(R"({"model_type": "olmo_hybrid", "num_hidden_layers": 2})", issues).layer_types ==
        "linear_attention,full_attention");
}

TEST_CASE("Hugging Face: Mamba and delta networks run without their kernels, too") {
  for (const char* text :
       {R"({"model_type": "nemotron_h"})", R"({"model_type": "olmo_hybrid"})", R"({"model_type": "qwen3_next"})"}) {
    Issues issues;
    Config config;
    config.model = read(text, issues);
    config.recipe.fast_path = false;
    report_not_modelled_layer_types(config, issues);
    CAPTURE(text);
    CHECK(issues.empty());
  }
}
