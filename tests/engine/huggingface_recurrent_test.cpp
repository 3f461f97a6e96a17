// config.json files of RWKV, RecurrentGemma, Zamba2, BitNet, ModernBERT's decoder, and of what others clip or
// normalise.
#include <string>

#include "engine/modelled/modelled.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/apply.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/huggingface_models.h"

using namespace trainmem;

TEST_CASE("Hugging Face: recurrent models, BitNet and Ettin are the models of their presets") {
  const auto [preset, text] = GENERATE(table<std::string, std::string>({
      {"openai-gpt", R"({"model_type": "openai-gpt", "afn": "gelu", "n_ctx": 512, "n_embd": 768, "n_head": 12,
        "n_layer": 12, "n_positions": 512, "vocab_size": 40478})"},
      {"rwkv4-169m", R"({"model_type": "rwkv", "attention_hidden_size": 768, "context_length": 1024,
        "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "rescale_every": 6,
        "tie_word_embeddings": false, "vocab_size": 50277})"},
      {"recurrentgemma-2b", R"({"model_type": "recurrent_gemma", "attention_window_size": 2048,
        "block_types": ["recurrent", "recurrent", "attention"], "conv1d_width": 4, "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2560, "intermediate_size": 15360,
        "logits_soft_cap": 30.0, "lru_width": 2560, "num_attention_heads": 10, "num_hidden_layers": 26,
        "num_key_value_heads": 1, "partial_rotary_factor": 0.5, "vocab_size": 256000})"},
      {"zamba2-1.2b", R"({"model_type": "zamba2", "adapter_rank": 128, "add_bias_linear": false, "chunk_size": 256,
        "hidden_size": 2048, "hybrid_layer_ids": [5, 11, 17, 23, 29, 35], "intermediate_size": 8192,
        "mamba_d_conv": 4, "mamba_d_state": 128, "mamba_expand": 2, "mamba_ngroups": 1, "n_mamba_heads": 64,
        "num_attention_heads": 32, "num_hidden_layers": 38, "num_key_value_heads": 32, "num_mem_blocks": 1,
        "use_mem_rope": true, "use_shared_attention_adapter": true, "vocab_size": 32000})"},
      {"bitnet-b1.58-2b", R"({"model_type": "bitnet", "hidden_act": "relu2", "max_position_embeddings": 4096,
        "tie_word_embeddings": true, "quantization_config": {"linear_class": "autobitlinear",
        "quant_method": "bitnet", "quantization_mode": "online"}})"},
      {"ettin-decoder-400m", R"({"model_type": "modernbert-decoder", "decoder_bias": true,
        "global_attn_every_n_layers": 3, "hidden_size": 1024, "intermediate_size": 2624, "local_attention": 128,
        "norm_bias": false, "num_attention_heads": 16, "num_hidden_layers": 28, "vocab_size": 50368})"},
      {"olmo-7b-0424", R"({"model_type": "olmo", "clip_qkv": 8.0, "hidden_size": 4096, "intermediate_size": 11008,
        "max_position_embeddings": 4096, "vocab_size": 50304})"},
      {"stablelm2-12b", R"({"model_type": "stablelm", "hidden_size": 5120, "intermediate_size": 13824,
        "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8, "qk_layernorm": true,
        "use_parallel_residual": true, "vocab_size": 100352})"},
      {"phi-tiny-moe", R"({"model_type": "phimoe", "attention_bias": true, "head_dim": 128,
        "input_jitter_noise": 0.01, "intermediate_size": 448, "lm_head_bias": true, "max_position_embeddings": 4096,
        "num_attention_heads": 16, "num_key_value_heads": 4})"},
  }));
  CAPTURE(preset);
  Issues issues;
  CHECK(differences_from_preset(text, preset, issues) == "");
  CHECK(issues.empty());
}

// Counted by transformers 5.16 itself: the parameters of AutoModelForCausalLM.from_config. Phi-3.5-MoE's is the
// published one, too.
TEST_CASE("Hugging Face: parameters of recurrent models, BitNet, Ettin, StableLM 2 and Phi's experts") {
  const auto [preset, count] = GENERATE(table<std::string, std::int64_t>({
      {"openai-gpt", 116'534'784},
      {"rwkv4-169m", 169'342'464},
      {"rwkv4-1.5b", 1'515'106'304},
      {"rwkv4-7b", 7'392'649'216},
      {"recurrentgemma-2b", 2'682'862'080},
      {"recurrentgemma-9b", 8'579'977'216},
      {"zamba2-1.2b", 1'215'064'704},
      {"bitnet-b1.58-2b", 2'412'820'480},
      {"ettin-decoder-150m", 149'655'232},
      {"ettin-decoder-400m", 395'881'664},
      {"ettin-decoder-1b", 1'031'314'112},
      {"stablelm2-12b", 12'143'185'920},
      {"phi-3.5-moe", 41'873'153'344},
      {"phi-mini-moe", 7'647'632'704},
      {"phi-tiny-moe", 3'755'220'288},
  }));
  CAPTURE(preset);
  Issues issues;
  Config config;
  apply_model_preset(preset, config, issues);
  CHECK(issues.empty());
  CHECK(parameter_count(config.model) == count);
}

TEST_CASE("Hugging Face: Zamba2's layers, listed by kind or by number, with and without positions") {
  Issues issues;
  const Model listed = read_huggingface(R"({"model_type": "zamba2", "num_hidden_layers": 4, "num_mem_blocks": 2,
    "layers_block_type": ["linear_attention", "hybrid", "mamba", "hybrid"], "use_mem_rope": true})",
                                        issues);
  CHECK(listed.layer_types == "mamba,hybrid");
  CHECK(listed.positions == Positions::rope);
  const Model numbered = read_huggingface(
      R"({"model_type": "zamba2", "num_hidden_layers": 4, "num_mem_blocks": 2, "hybrid_layer_ids": [1, 3]})", issues);
  CHECK(numbered.layer_types == listed.layer_types);
  CHECK(numbered.positions == Positions::none);
  CHECK(numbered.head_dim == 160);  // of twice the hidden size
  CHECK(layer_kind(listed, 1).shared_block == 0);
  CHECK(layer_kind(listed, 3).shared_block == 1);
  // The first user of a block has its weights: another one has its own layer and Mamba alone.
  const Model shared = read_huggingface(
      R"({"model_type": "zamba2", "num_hidden_layers": 4, "num_mem_blocks": 1, "hybrid_layer_ids": [1, 3]})", issues);
  CHECK(layer_kind(shared, 3).shared_block == -1);
  CHECK(count(layer_parameters(shared, layer_kind(shared, 3))) ==
        count(layer_parameters(shared, layer_kind(shared, 0))) + 2560 * 2560);
  CHECK(issues.empty());
}

TEST_CASE("Hugging Face: jitter and weights of three values are as the configuration says") {
  Issues issues;
  CHECK_FALSE(read_huggingface(R"({"model_type": "phimoe"})", issues).experts.input_jitter);
  CHECK_FALSE(read_huggingface(R"({"model_type": "bitnet"})", issues).bit_linear);
  CHECK(read_huggingface(R"({"model_type": "mpt", "attn_config": {"clip_qkv": 6}})", issues).clip_qkv == 6);
  CHECK(issues.empty());
}

TEST_CASE("modelled: Megatron has no norm of each head, no clipped queries and no norms within attention") {
  const auto [preset, path] = GENERATE(table<const char*, const char*>({{"stablelm2-12b", "/model/qk_norm"},
                                                                        {"olmo-7b-0424", "/model/clip_qkv"},
                                                                        {"bitnet-b1.58-2b", "/model/model_type"}}));
  CAPTURE(preset);
  Issues issues;
  Config config;
  apply_model_preset(preset, config, issues);
  config.recipe.framework = Framework::megatron;
  report_not_modelled(config, issues);
  bool found = false;
  for (const Issue& issue : issues) found = found || issue.path == path;
  CHECK(found);
}

TEST_CASE("modelled: weights that layers share are not divided, and not recomputed in part") {
  const auto [change, path] = GENERATE(table<void (*)(Recipe&), const char*>({
      {[](Recipe& r) { r.data_parallel = DataParallel::fsdp, r.data_parallel_size = 8; }, "/recipe/data_parallel"},
      {[](Recipe& r) { r.recomputation = Recomputation::every_k; }, "/recipe/recomputation"},
      {[](Recipe& r) { r.recomputation = Recomputation::full, r.recomputation_reentrant = true; },
       "/recipe/recomputation_reentrant"},
  }));
  CAPTURE(path);
  Issues issues;
  Config config;
  apply_model_preset("zamba2-1.2b", config, issues);
  report_not_modelled(config, issues);
  CHECK(issues.empty());
  change(config.recipe);
  report_not_modelled(config, issues);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].path == path);
}
