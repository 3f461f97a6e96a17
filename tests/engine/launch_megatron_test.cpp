// Megatron-LM's arguments, read and written.
#include <string>

#include "engine/config/text.h"
#include "engine/launch/export.h"
#include "engine/launch/import.h"
#include "engine/presets/apply.h"
#include "engine/presets/presets.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/imports.h"

using namespace trainmem;

TEST_CASE("Megatron arguments: a Llama's layers, interleaved stages and recomputation") {
  const Import import = import_text(
      "--num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 --group-query-attention "
      "--num-query-groups 8 --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
      "--untie-embeddings-and-output-weights --attention-dropout 0.0 --hidden-dropout 0.0 --vocab-size=128256 "
      "--max-position-embeddings 8192 --seq-length 8192 --micro-batch-size 1 --bf16 --use-distributed-optimizer "
      "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 5 "
      "--sequence-parallel --recompute-granularity full --recompute-method block --recompute-num-layers 3");
  REQUIRE(import.issues.empty());
  Config preset;
  Issues issues;
  apply_model_preset("llama3-70b", preset, issues);
  for (const Field& field : config_fields()) {
    const std::string_view path = field.path;
    if (path.substr(0, 7) != "/model/" || path == "/model/model_type") continue;
    INFO(path);
    CHECK(same(field, import.config, preset));
  }
  CHECK(value(import, "/recipe/virtual_pipeline_stages") == "4");
  CHECK(value(import, "/recipe/pipeline_schedule") == "interleaved");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/recomputation_layers") == "3");
  CHECK(value(import, "/recipe/sequence_parallel") == "1");
}

TEST_CASE("Megatron arguments: a tokenizer says the size of its vocabulary") {
  const auto vocabulary = [](const std::string& words) {
    return value(import_text("pretrain_gpt.py --num-layers 2 --hidden-size 256 " + words), "/model/vocab_size");
  };
  CHECK(vocabulary("--tokenizer-type GPT2BPETokenizer") == "50257");
  CHECK(vocabulary("--vocab-file v.json --merge-file m.txt") == "50257");
  CHECK(vocabulary("--tokenizer-type Llama2Tokenizer --vocab-size 7") == "7");
}

// NVIDIA/Megatron-LM examples/post_training/modelopt/conf/deepseek-ai/DeepSeek-V2-Lite.sh, with the tokenizer's size
constexpr const char* deepseek_arguments =
    "--attention-dropout 0.0 --hidden-dropout 0.0 --micro-batch-size 1 --bf16 --disable-bias-linear "
    "--untie-embeddings-and-output-weights --position-embedding-type rope --normalization RMSNorm --swiglu "
    "--num-layers 27 --hidden-size 2048 --ffn-hidden-size 10944 --num-attention-heads 16 --kv-channels 16 "
    "--multi-latent-attention --kv-lora-rank 512 --v-head-dim 128 --qk-head-dim 128 --qk-layernorm "
    "--qk-pos-emb-head-dim 64 --num-experts 64 --moe-layer-freq ([0]+[1]*26) --moe-ffn-hidden-size 1408 "
    "--moe-grouped-gemm --moe-router-score-function softmax --moe-router-topk 6 --moe-router-pre-softmax "
    "--moe-shared-expert-intermediate-size 2816 --moe-token-dispatcher-type alltoall --seq-length 1024 "
    "--max-position-embeddings 1024 --make-vocab-size-divisible-by 3200 --vocab-size 102400";

TEST_CASE("Megatron arguments: latent attention, shared experts and a dense first layer are the preset's model") {
  Config preset;
  Issues issues;
  apply_model_preset("deepseek-v2-lite", preset, issues);
  const auto check_model = [&](const Import& import) {
    REQUIRE(import.issues.empty());
    for (const Field& field : config_fields()) {
      const std::string_view path = field.path;
      if (path.substr(0, 7) != "/model/" || path == "/model/model_type") continue;
      if (path == "/model/max_position_embeddings") continue;  // the script's runs are short
      INFO(path);
      CHECK(same(field, import.config, preset));
    }
  };
  const Import import = import_text(deepseek_arguments);
  check_model(import);
  check_model(import_text(export_settings(megatron_format(), import.config).text));
  // The sizes alone are not latent attention.
  const Import plain = import_text("--num-layers 27 --num-attention-heads 16 --hidden-size 2048 --kv-lora-rank 512");
  CHECK(value(plain, "/model/latent_attention/kv_lora_rank") == "0");
  CHECK(is_unused(plain, "--kv-lora-rank"));
}

TEST_CASE("Megatron arguments: which layers have experts") {
  const auto read = [](const char* frequency) {
    return import_text("--num-layers 4 --hidden-size 64 --num-experts 8 --moe-layer-freq " + std::string(frequency));
  };
  const auto says = [&](const char* frequency, const char* first, const char* every) {
    INFO(frequency);
    const Import import = read(frequency);
    CHECK(value(import, "/model/experts/first_k_dense_replace") == first);
    CHECK(value(import, "/model/experts/moe_layer_freq") == every);
  };
  says("1", "0", "1");
  says("[0]*3+[1]", "3", "1");
  says("\"([0,1]*2)\"", "0", "2");  // conf/meta-llama/Llama-4-Maverick-17B-128E-Instruct.sh has ([0,1]*24)
  // Layers 0 and 2 of a whole number, a layer too few, and what is no list.
  for (const char* frequency : {"2", "[1]*3", "[]*999999999999", "[0]*4", "[1]*2+", "often"}) {
    INFO(frequency);
    CHECK(is_unused(read(frequency), "--moe-layer-freq"));
  }
}

TEST_CASE("Megatron arguments: recomputed modules, moments and offload go in and out") {
  Config config = import_text(deepseek_arguments).config;
  config.recipe.recomputation = Recomputation::selective_modules;
  config.recipe.recomputation_modules = "core_attn,mlp";
  config.recipe.optimizer_state_dtype = DType::bfloat16;
  config.recipe.offload_optimizer = true;
  const Export out = export_settings(megatron_format(), config);
  INFO(out.text);
  for (const char* words :
       {"--recompute-granularity selective", "--recompute-modules core_attn mlp", "--exp-avg-dtype bf16",
        "--exp-avg-sq-dtype bf16", "--use-precision-aware-optimizer", "--optimizer-cpu-offload"}) {
    INFO(words);
    CHECK(out.text.find(words) != std::string::npos);  // validate_args wants all of them
  }
  CHECK(out.not_said.empty());
  CHECK(is_unused(import_text("--num-layers 2 --exp-avg-dtype bf16"), "--exp-avg-dtype"));
}

TEST_CASE("Megatron arguments: what is missing or has no value is said") {
  const Import import = import_text(
      "pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 "
      "--micro-batch-size $MBS --seq-length many --global-batch-size 64");
  REQUIRE(import.issues.size() == 1);
  CHECK(import.issues[0].path == "/model/vocab_size");
  CHECK(why(import, "--micro-batch-size").find("variable") != std::string::npos);
  CHECK(why(import, "--seq-length").find("whole number") != std::string::npos);
  CHECK(why(import, "--global-batch-size").find("--nproc-per-node") != std::string::npos);
}

TEST_CASE("Megatron arguments: those of a launch alone leave the model to others") {
  const Import import = import_text(
      "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4 "
      "--micro-batch-size 1 --bf16 --sequence-parallel");
  CHECK(import.issues.empty());
  CHECK_FALSE(import.has_model);
  CHECK(value(import, "/recipe/tensor_parallel") == "8");
  CHECK(value(import, "/recipe/pipeline_parallel") == "2");
  CHECK(value(import, "/recipe/virtual_pipeline_stages") == "1");  // how many layers there are is not said
  CHECK(is_unused(import, "--num-layers-per-virtual-pipeline-stage"));
  CHECK(import_text("--num-layers 4 --bf16").has_model);

  const Import other = import_text("grep --word-regexp tensor notes.txt");
  REQUIRE(other.issues.size() == 1);
  CHECK(other.issues[0].code == "unknown_format");
}

// NVIDIA/Megatron-LM tests/functional_tests: gpt3_weekly_mcore_tp2_pp2_current_scaling_native_fp8_tp_pp_sp_tp_overlap
TEST_CASE("Megatron arguments: fp8, with parameters that are gathered in it") {
  const Import import =
      import_text("--num-layers 12 --bf16 --fp8-format hybrid --fp8-recipe tensorwise --fp8-param-gather");
  CHECK(value(import, "/recipe/precision") == "fp8");
  CHECK(value(import, "/recipe/weights_dtype") == "fp8");
  CHECK(value(import_text("--num-layers 12 --bf16 --fp8-format e4m3 --fp8-recipe blockwise"), "/recipe/fp8_recipe") ==
        "blockwise");
}

TEST_CASE("export: every dense preset as Megatron arguments is read back as the same model") {
  // One GELU, gates of SiLU alone, positions without offset, one dropout, RoPE in every layer, biases in all or none.
  const std::string no_option =
      " /model/hidden_act /model/gated_mlp /model/learned_positions /model/embedding_dropout /model/nope_every "
      "/model/sliding_window /model/attention_bias ";
  int written = 0;
  for (const PresetText& preset : model_presets()) {
    Config config;
    Issues issues;
    apply_model_preset(preset.id, config, issues);
    config.recipe = default_recipe(Framework::megatron);
    config.recipe.sequence_length = 2048;
    complete(config);
    if (config.model.experts.num_experts > 0 || !validate(config).empty()) continue;  // not a model of Megatron
    const Export out = export_settings(megatron_format(), config);
    INFO(preset.id << "\n" << out.text);
    for (const std::string& path : out.not_said) {
      INFO(path);
      CHECK(no_option.find(" " + path + " ") != std::string::npos);
    }
    ++written;
  }
  CHECK(written > 60);
}
