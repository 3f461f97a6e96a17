// Settings files of frameworks, read and written. The texts are excerpts of files that the projects publish.
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/border/border.h"
#include "engine/codec/link.h"
#include "engine/config/text.h"
#include "engine/launch/export.h"
#include "engine/launch/import.h"
#include "engine/presets/apply.h"
#include "engine/presets/presets.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/imports.h"

using namespace trainmem;

// NVIDIA/Megatron-LM examples/gpt3/train_gpt3_175b_distributed.sh
constexpr const char* gpt3_script = R"(#!/bin/bash
# Runs the "175B" parameter model
GPUS_PER_NODE=8
NUM_NODES=128
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
)
GPT_MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --attention-backend auto # Can use (flash/fused/unfused/local)
)
TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 1536
    --weight-decay 0.1
    --fp16
    --clip-grad 1.0
)
MODEL_PARALLEL_ARGS=(
	--tensor-model-parallel-size 8
	--pipeline-model-parallel-size 16
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py --vocab-size 50257)";

TEST_CASE("Megatron arguments: the published GPT-3 script is the preset's model and recipe") {
  const Import import = import_text(gpt3_script);
  CHECK(import.format == "megatron");
  CHECK(import.issues.empty());
  Config preset;
  Issues issues;
  apply_model_preset("gpt3-175b", preset, issues);
  for (const Field& field : config_fields()) {
    if (std::string_view(field.path).substr(0, 7) != "/model/") continue;
    INFO(field.path);
    CHECK(same(field, import.config, preset));
  }
  CHECK(value(import, "/recipe/tensor_parallel") == "8");
  CHECK(value(import, "/recipe/pipeline_parallel") == "16");
  CHECK(value(import, "/recipe/data_parallel_size") == "8");             // 1,024 GPUs / (8 x 16)
  CHECK(value(import, "/recipe/gradient_accumulation_steps") == "192");  // 1,536 / 8
  CHECK(value(import, "/recipe/precision") == "fp16_mixed");
  CHECK(value(import, "/recipe/attention") == "sdpa");
  CHECK(is_unused(import, "--weight-decay"));
}

// pytorch/torchtitan torchtitan/models/llama3/train_configs/llama3_405b.toml
constexpr const char* llama_405b_toml = R"(# NOTE: this toml config is a preset for 128 H100 GPUs.
[job]
dump_folder = "./outputs"
description = "Llama 3 405B training"

[model]
name = "llama3"
flavor = "405B"
# converters = ["float8"]

[optimizer]
name = "AdamW"
lr = 8e-5

[training]
local_batch_size = 2
seq_len = 8192
max_norm = 1.0  # grad norm clipping

[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 8  # 8-way TP
enable_async_tensor_parallel = true
pipeline_parallel_degree = 1

[activation_checkpoint]
mode = "full" # ["none", "selective", "full"]

[compile]
enable=true
components = ["model", "loss"]
)";

TEST_CASE("torchtitan TOML: the published 405B file") {
  const Import import = import_text(llama_405b_toml);
  CHECK(import.format == "torchtitan");
  CHECK(import.issues.empty());
  CHECK(import.config.model_preset == "llama3.1-405b");
  CHECK(value(import, "/recipe/framework") == "torchtitan");
  CHECK(value(import, "/recipe/micro_batch_size") == "2");
  CHECK(value(import, "/recipe/sequence_length") == "8192");
  CHECK(value(import, "/recipe/tensor_parallel") == "8");
  CHECK(value(import, "/recipe/loss") == "vocabulary_parallel");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/compile_blocks") == "1");
  CHECK(value(import, "/recipe/compile_loss") == "1");
  CHECK(value(import, "/recipe/precision") == "fsdp_bf16");
  CHECK(why(import, "parallelism.data_parallel_shard_degree").find("all GPUs") != std::string::npos);
  CHECK(is_unused(import, "parallelism.enable_async_tensor_parallel"));
  CHECK(is_unused(import, "optimizer.lr"));
}

TEST_CASE("torchtitan TOML: hybrid sharding, layers in between, a pipeline's micro-batches") {
  const Import import = import_text(
      "[parallelism]\ndata_parallel_replicate_degree = 4\ndata_parallel_shard_degree = 8\n"
      "pipeline_parallel_degree = 2\npipeline_parallel_schedule = \"Interleaved1F1B\"\n"
      "[training]\nlocal_batch_size = 16\n[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = '3'\n");
  CHECK(value(import, "/recipe/data_parallel_size") == "32");
  CHECK(value(import, "/recipe/hybrid_shard_size") == "8");
  CHECK(value(import, "/recipe/recomputation") == "every_k");
  CHECK(value(import, "/recipe/recomputation_interval") == "3");
  CHECK(value(import, "/recipe/pipeline_schedule") == "interleaved");
  CHECK(value(import, "/recipe/micro_batch_size") == "1");
  CHECK(value(import, "/recipe/gradient_accumulation_steps") == "16");
}

// torchtitan/config/job_config.py of 0.2.2: selective_ac_option is a text; components/quantization/float8.py names the
// converter; training.mixed_precision_reduce has float32 alone.
TEST_CASE("torchtitan TOML: every k-th layer is a text, and float8 has the converter's name") {
  Config config;
  Issues issues;
  apply_model_preset("qwen3-30b-a3b", config, issues);
  config.recipe = default_recipe(Framework::torchtitan, TorchtitanRelease::release_0_2_2);
  config.recipe.data_parallel_size = 8;
  config.recipe.recomputation = Recomputation::every_k;
  config.recipe.recomputation_interval = 3;
  config.recipe.precision = Precision::fp8;
  config.recipe.gradient_reduce_dtype = DType::bfloat16;
  const Export out = export_settings(torchtitan_format(), config);
  INFO(out.text);
  CHECK(out.text.find("flavor = \"30B-A3B\"\n") != std::string::npos);
  CHECK(out.text.find("selective_ac_option = \"3\"\n") != std::string::npos);
  CHECK(out.text.find("converters = [\"quantize.linear.float8\"]\n") != std::string::npos);
  CHECK(out.text.find("mixed_precision_reduce") == std::string::npos);
  CHECK(out.not_said == std::vector<std::string>{"/recipe/gradient_reduce_dtype", "/recipe/fused_norm"});
}

// huggingface/transformers docs/source/en/deepspeed.md: ZeRO-3 with offload
TEST_CASE("DeepSpeed JSON: the ZeRO-3 file of the transformers documentation") {
  const Import import = import_text(R"({
    "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}},
    "zero_optimization": {
        "stage": 3,
        "offload_optimizer": {"device": "cpu", "pin_memory": true},
        "offload_param": {"device": "cpu", "pin_memory": true},
        "overlap_comm": true, "contiguous_gradients": true, "sub_group_size": 1e9,
        "reduce_bucket_size": "auto", "stage3_gather_16bit_weights_on_model_save": true
    },
    "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"})");
  CHECK(import.format == "deepspeed");
  CHECK_FALSE(import.has_model);
  CHECK(value(import, "/recipe/framework") == "deepspeed");
  CHECK(value(import, "/recipe/data_parallel") == "zero3");
  CHECK(value(import, "/recipe/precision") == "bf16_mixed");
  CHECK(value(import, "/recipe/offload_optimizer") == "1");
  CHECK(value(import, "/recipe/offload_parameters") == "1");
  CHECK(value(import, "/recipe/gradient_clipping") == "1");
  CHECK(why(import, "gradient_accumulation_steps").find("filled in") != std::string::npos);
  CHECK(why(import, "zero_optimization.reduce_bucket_size").find("default") != std::string::npos);
  CHECK(value(import, "/recipe/zero_overlap_comm") == "1");
  CHECK(value(import, "/recipe/zero_sub_group_size") == "1000000000");
}

// deepspeedai/DeepSpeed docs/_pages/config-json.md: the example's sizes
TEST_CASE("DeepSpeed JSON: sizes of ZeRO's buckets are fields") {
  const Import import = import_text(R"({"zero_optimization": {"stage": 3, "reduce_bucket_size": 2e8,
    "stage3_prefetch_bucket_size": 1e7, "stage3_param_persistence_threshold": 1e4,
    "stage3_max_live_parameters": 3e8, "stage3_max_reuse_distance": 4e8}})");
  CHECK(value(import, "/recipe/zero_reduce_bucket_size") == "200000000");
  CHECK(value(import, "/recipe/zero_prefetch_bucket_size") == "10000000");
  CHECK(value(import, "/recipe/zero_param_persistence_threshold") == "10000");
  CHECK(value(import, "/recipe/zero_max_live_parameters") == "300000000");
  CHECK(value(import, "/recipe/zero_max_reuse_distance") == "400000000");
}

TEST_CASE("DeepSpeed JSON: the three batch sizes say the number of GPUs") {
  const Import import = import_text(R"({"train_batch_size": 512, "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2, "fp16": {"enabled": true}, "zero_optimization": {"stage": 1}})");
  CHECK(value(import, "/recipe/data_parallel_size") == "64");  // 512 / (4 x 2)
  CHECK(value(import, "/recipe/precision") == "fp16_mixed");
  CHECK(value(import, "/recipe/gradient_clipping") == "0");
}

TEST_CASE("import: a model with a vision part is its language model") {
  const Import import = import_text(R"({"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
    "vision_config": {"hidden_size": 1152}, "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
    "intermediate_size": 10240, "num_hidden_layers": 34, "num_attention_heads": 8, "num_key_value_heads": 4,
    "head_dim": 256, "vocab_size": 262208, "sliding_window": 1024}})");
  REQUIRE(import.issues.empty());
  CHECK(import.format == "huggingface");
  CHECK(value(import, "/model/hidden_size") == "2560");
  CHECK(is_unused(import, "vision_config"));
}

TEST_CASE("import: Python's word for infinity is no obstacle") {
  const Import import = import_text(R"({"model_type": "nemotron_h", "architectures": ["an \"Infinity\""],
    "hidden_size": 4480, "time_step_limit": [0.0, Infinity, -Infinity], "mamba_num_heads": 128})");
  REQUIRE(import.issues.empty());
  CHECK(value(import, "/model/hidden_size") == "4480");
  CHECK(value(import, "/model/mamba/n_heads") == "128");
  CHECK_FALSE(import_text(R"({"model_type": "llama", "hidden_size": Infinite})").issues.empty());
}

// json.load keeps "4096" a string, and torch.nn.Embedding takes none: the run would stop there too.
TEST_CASE("import: a size in quotes is named, not read as nothing") {
  const Import import = import_text(
      R"({"model_type": "llama", "hidden_size": "4096", "tie_word_embeddings": "false", "num_hidden_layers": 32})");
  REQUIRE(import.issues.size() == 2);
  CHECK(import.issues[0].path == "/model/hidden_size");
  CHECK(import.issues[0].message == R"("hidden_size" is the text "4096", not a number.)");
  CHECK(import.issues[0].hint == "Write it without the quotes.");
  CHECK(import.issues[1].path == "/model/tie_word_embeddings");
  const Import words = import_text(R"({"model_type": "llama", "hidden_size": "big", "num_hidden_layers": 32})");
  REQUIRE(words.issues.size() == 1);
  CHECK(words.issues[0].message == R"("hidden_size" is the text "big", not a number.)");
  CHECK(words.issues[0].hint == "Give a number.");
}

TEST_CASE("import: a model whose class is unknown gets an issue that names it") {
  const Import import =
      import_text(R"({"model_type": "zamba", "hidden_size": 4096, "transformers_version": "4.44.0"})");
  REQUIRE(import.issues.size() == 1);
  CHECK(import.issues[0].path == "/model/model_type");
  CHECK(import.issues[0].message.find("zamba") != std::string::npos);
}

TEST_CASE("import: our own JSON, answers and links open as themselves") {
  const char* link = "v=1&model=llama2-7b&gpu=h100-sxm&seq=8192&end";
  CHECK(format_link(import_text(link).config) == link);
  CHECK(format_link(import_text("https://example.org/trainmem/#" + std::string(link)).config) == link);
  CHECK(format_link(
            import_text(R"({"model": "llama2-7b", "gpu": "h100-sxm", "recipe": {"sequence_length": 8192}})").config) ==
        link);
  CHECK(format_link(import_text(estimate(link)).config) == link);
}

TEST_CASE("import: texts of no kind are refused with a list of what is known") {
  for (const char* text : {"", "hello", "{", "{}", "[1, 2]", "key = 1", "a: b", "{\"a\": {\"b\": 1}}", "--", "-- x"}) {
    INFO(text);
    CHECK_FALSE(import_text(text).issues.empty());
  }
  CHECK_FALSE(import_text(std::string_view("[a]\nb = \0", 9)).issues.empty());  // no text at all
  CHECK(import_text(std::string(300000, 'x')).issues[0].code == "too_long");
  CHECK(read_settings("hello").find("\"ok\":false") != std::string::npos);
}

TEST_CASE("export: every recipe preset, written for its own framework and read back, is the same run") {
  // DeepSpeed's and accelerate's files leave these to the training script.
  const std::string of_the_script =
      " /recipe/micro_batch_size /recipe/sequence_length /recipe/precision /recipe/weights_dtype /recipe/optimizer "
      "/recipe/gradient_accumulation_steps /recipe/objective /recipe/reference_model /recipe/completion_length "
      "/recipe/old_log_probabilities /recipe/vllm_memory_fraction /recipe/padding "
      "/recipe/optimizer_implementation /recipe/gradient_clipping /recipe/fsdp_wrap_embeddings /recipe/recomputation "
      "/recipe/attention /recipe/loss /recipe/fused_norm /recipe/compile_blocks /recipe/compile_loss "
      "/recipe/training_loop /recipe/fused_mlp /recipe/tensor_parallel /recipe/pipeline_parallel "
      "/recipe/pipeline_first_stage_layers "
      "/recipe/pipeline_last_stage_layers /recipe/lora/rank /recipe/lora/targets /recipe/lora/dropout "
      "/recipe/lora/adapter_dtype /recipe/quantization /recipe/offload_checkpoints /recipe/expandable_segments ";
  // Layers of a stage are split points in torchtitan; under Megatron RoPE's kernel has no option that turns it on.
  // torchtitan's TOML ends with 0.2.2.
  const std::string of_the_model =
      " /recipe/pipeline_first_stage_layers /recipe/pipeline_last_stage_layers /recipe/fused_rope "
      "/recipe/torchtitan_release /recipe/cuda_graphs /recipe/loss ";
  for (const PresetText& preset : recipe_presets()) {
    Config config;
    Issues issues;
    apply_model_preset("llama3.1-8b", config, issues);
    apply_recipe_preset(preset.id, config, issues);
    complete(config);
    const Export out = export_settings(*formats_for(config)[0], config);
    const std::string name = out.format->name;
    INFO(preset.id << ": " << name << "\n" << out.text);
    const bool script = name == "deepspeed" || name == "accelerate";
    for (const std::string& path : out.not_said) {
      INFO(path);
      CHECK((script ? of_the_script : of_the_model).find(" " + path + " ") != std::string::npos);
    }
  }
}

TEST_CASE("import: damaged texts are answered, whatever the damage") {
  std::uint32_t state = 20261121;
  const auto next = [&](std::size_t limit) {  // a linear congruential generator: the same texts on every machine
    state = state * 1664525U + 1013904223U;
    return static_cast<std::size_t>(state >> 8U) % limit;
  };
  const std::string pieces[] = {"{",  "}", "\"", "=", "--", "[", "]", "\n", ": ", "$", "-1", "999999999999999999",
                                "\\", "#"};
  for (const std::string& whole :
       {std::string(gpt3_script), std::string(llama_405b_toml),
        std::string(R"({"train_batch_size": 8, "zero_optimization": {"stage": 3}})"),
        std::string("distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n")}) {
    for (int i = 0; i < 400; ++i) {
      std::string text = whole;
      for (std::size_t changes = 1 + next(6); changes > 0; --changes) {
        const std::size_t at = next(text.size());
        text.replace(at, next(4), pieces[next(std::size(pieces))]);
      }
      const nlohmann::json answer = nlohmann::json::parse(read_settings(text), nullptr, false);
      INFO(text);
      REQUIRE(answer.is_object());
      CHECK(answer["ok"].get<bool>() != answer.contains("issues"));
      const nlohmann::json settings =
          nlohmann::json::parse(write_settings(format_link(import_text(text).config)), nullptr, false);
      CHECK(settings.is_object());
    }
  }
}
