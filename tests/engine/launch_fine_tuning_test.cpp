// What people who fine-tune have at hand: command lines of the Trainer and of TRL, YAML of axolotl, LLaMA-Factory and
// torchtune. The texts are excerpts of files that the projects publish.
#include <string>

#include "engine/config/text.h"
#include "engine/launch/import.h"
#include "tests/catch.h"
#include "tests/imports.h"

using namespace trainmem;

// huggingface/trl 016013e8, trl/scripts/sft.py: its LoRA example; max_length, gradient_checkpointing, bf16 and
// lora_dropout are TRL's defaults, sft_config.py and model_config.py.
TEST_CASE("Trainer arguments: TRL's own LoRA example") {
  const Import import = import_text(R"(python trl/scripts/sft.py \
    --model_name_or_path Qwen/Qwen2.5-0.5B \
    --dataset_name trl-lib/Capybara \
    --learning_rate 2.0e-4 \
    --num_train_epochs 1 \
    --packing \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8 \
    --eos_token '<|im_end|>' \
    --use_peft \
    --lora_r 32 \
    --lora_alpha 16 \
    --output_dir Qwen2-0.5B-SFT)");
  CHECK(import.format == "trainer");
  CHECK(import.issues.empty());
  CHECK(import.has_model);
  CHECK(import.config.model_preset == "qwen2.5-0.5b");
  CHECK(value(import, "/recipe/framework") == "transformers");
  CHECK(value(import, "/recipe/training_loop") == "trainer");
  CHECK(value(import, "/recipe/micro_batch_size") == "2");
  CHECK(value(import, "/recipe/gradient_accumulation_steps") == "8");
  CHECK(value(import, "/recipe/sequence_length") == "1024");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/precision") == "bf16_autocast");
  CHECK(value(import, "/recipe/lora/rank") == "32");
  CHECK(value(import, "/recipe/lora/dropout") == "0.05");
  CHECK(value(import, "/recipe/lora/targets") == "q,v");
  CHECK(why(import, "learning_rate").empty());
  CHECK(why(import, "dtype").find("fp32") != std::string::npos);
}

// huggingface/trl 016013e8, trainer/sft_config.py: packing, padding_free; transformers training_args.py:
// label_smoothing_factor. Without packing the batch is padded, unless it is one sequence.
TEST_CASE("Trainer arguments: packing, and smoothed labels") {
  const auto read = [](const std::string& more) {
    return import_text("python trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-0.5B " + more);
  };
  const std::string two = "--per_device_train_batch_size 2 ";
  CHECK(value(read(two), "/recipe/padding") == "1");  // packing is off unless it is asked for
  CHECK(value(read(two + "--packing"), "/recipe/padding") == "0");
  CHECK(value(read(two + "--packing False"), "/recipe/padding") == "1");
  CHECK(value(read("--per_device_train_batch_size 1 --packing False"), "/recipe/padding") == "0");
  CHECK(value(read(two + "--packing False --padding_free True"), "/recipe/padding") == "0");
  CHECK(value(read("--label_smoothing_factor 0.1"), "/recipe/loss") == "label_smoothing");
  CHECK(value(read("--label_smoothing_factor 0.0"), "/recipe/loss") == "full");
}

// huggingface/transformers examples/pytorch/language-modeling/README.md, with options of TrainingArguments.
TEST_CASE("Trainer arguments: run_clm.py by torchrun, with DeepSpeed's file by its name") {
  const Import import = import_text(
      "torchrun --nproc_per_node 8 --nnodes=2 run_clm.py --model_name_or_path openai-community/gpt2 --bf16 "
      "--block_size 1024 --per_device_train_batch_size 8 --optim paged_adamw_8bit --deepspeed ds_config_zero3.json "
      "--gradient_checkpointing True --max_grad_norm 0.0 --do_train");
  CHECK(import.format == "trainer");
  CHECK(import.config.model_preset == "gpt2");
  CHECK(value(import, "/recipe/data_parallel_size") == "16");
  CHECK(value(import, "/recipe/framework") == "deepspeed");
  CHECK(value(import, "/recipe/data_parallel") == "zero3");
  CHECK(value(import, "/recipe/precision") == "bf16_mixed");
  CHECK(value(import, "/recipe/optimizer") == "adamw_paged_8bit");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/gradient_clipping") == "0");
  CHECK(why(import, "do_train").empty());
}

// models/{deepseek_v2,dbrx,gpt2}/modeling_*.py name their layers so; peft's all-linear is every linear layer but the
// head.
TEST_CASE("Trainer arguments: modules have the names of the model's class") {
  const auto targets = [](const char* model, const char* modules) {
    return value(import_text(std::string("train.py --use_peft --model_name_or_path ") + model +
                             " --lora_target_modules " + modules),
                 "/recipe/lora/targets");
  };
  CHECK(targets("deepseek-ai/DeepSeek-V2-Lite", "q_a_proj q_b_proj kv_b_proj") == "q,k,v");
  CHECK(targets("databricks/dbrx-base", "Wqkv") == "q,k,v");
  CHECK(targets("openai-community/gpt2", "c_attn c_proj") == "q,k,v,o,down");
  CHECK(targets("bigcode/starcoder2-3b", "c_fc c_proj") == "up,down");
  CHECK(targets("meta-llama/Llama-2-7b-hf", "all-linear") == "q,k,v,o,gate,up,down,other");
}

TEST_CASE("Trainer arguments: quantisation, modules by name, FSDP; a model that is not known") {
  const Import import = import_text(
      "accelerate launch --num_processes 4 train.py --model_name_or_path someone/unheard-of-7b --load_in_4bit "
      "--use_bnb_nested_quant --use_peft --lora_target_modules q_proj k_proj down_proj lm_head --dtype bfloat16 "
      "--bf16 true --optim adamw_torch --per_device_train_batch_size 1 --max_length 4096");
  CHECK_FALSE(import.has_model);
  CHECK(why(import, "model_name_or_path").find("config.json") != std::string::npos);
  CHECK(value(import, "/recipe/data_parallel_size") == "4");
  CHECK(value(import, "/recipe/quantization") == "nf4_double");
  CHECK(value(import, "/recipe/weights_dtype") == "bf16");
  CHECK(value(import, "/recipe/lora/rank") == "16");  // ModelConfig.lora_r
  CHECK(value(import, "/recipe/lora/targets") == "q,k,down");
  CHECK(value(import, "/recipe/optimizer_implementation") == "foreach");
  const Import sharded = import_text(
      "torchrun --nproc_per_node=4 train.py --model_name_or_path /data/llama/Llama-2-7b-hf/ --bf16 True "
      "--per_device_train_batch_size 4 --fsdp 'full_shard auto_wrap' --model_max_length 512");
  CHECK(sharded.config.model_preset == "llama2-7b");
  CHECK(value(sharded, "/recipe/data_parallel") == "fsdp");
  CHECK(value(sharded, "/recipe/fsdp_version") == "1");
  CHECK(value(sharded, "/recipe/precision") == "fsdp_bf16");
  CHECK(value(sharded, "/recipe/sequence_length") == "512");
}

// hiyouga/LLaMA-Factory 13d252fa, examples/train_lora/llama3_lora_sft.yaml and 03da9a79,
// examples/train_full/llama3_full_sft.yaml
TEST_CASE("LLaMA-Factory YAML: the published LoRA and full examples") {
  const Import import = import_text(R"(### model
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
trust_remote_code: true

### method
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all

### dataset
dataset: identity,alpaca_en_demo
template: llama3
cutoff_len: 2048

### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
)");
  CHECK(import.format == "llamafactory");
  CHECK(import.config.model_preset == "llama3-8b");
  CHECK(value(import, "/recipe/sequence_length") == "2048");
  CHECK(value(import, "/recipe/gradient_accumulation_steps") == "8");
  CHECK(value(import, "/recipe/lora/rank") == "8");
  CHECK(value(import, "/recipe/lora/targets") == "q,k,v,o,gate,up,down,other");
  CHECK(value(import, "/recipe/recomputation") == "full");  // disable_gradient_checkpointing is false
  CHECK(value(import, "/recipe/weights_dtype") == "bf16");
  CHECK(why(import, "template").empty());

  const Import full = import_text(R"(model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
stage: sft
finetuning_type: full
deepspeed: examples/deepspeed/ds_z3_config.json  # choices: [ds_z0_config.json, ds_z2_config.json, ds_z3_config.json]
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
bf16: true
)");
  CHECK(value(full, "/recipe/lora/rank") == "0");
  CHECK(value(full, "/recipe/data_parallel") == "zero3");
  CHECK(value(full, "/recipe/precision") == "bf16_mixed");
  CHECK(value(full, "/recipe/weights_dtype") == "auto");
}

// axolotl-ai-cloud/axolotl 34d3c8dc, examples/llama-3/lora-1b.yml
TEST_CASE("axolotl YAML: the published LoRA example") {
  const Import import = import_text(R"(base_model: NousResearch/Llama-3.2-1B

load_in_8bit: false
load_in_4bit: false

datasets:
  - path: teknium/GPT4-LLM-Cleaned
    type: alpaca

adapter: lora
lora_model_dir:

sequence_len: 2048
sample_packing: true

lora_r: 16
lora_alpha: 32
lora_dropout: 0.05
lora_fan_in_fan_out:
lora_target_modules:
  - gate_proj
  - down_proj
  - up_proj
  - q_proj
  - v_proj
  - k_proj
  - o_proj

gradient_accumulation_steps: 2
micro_batch_size: 2
optimizer: adamw_8bit
bf16: auto
fp16:

gradient_checkpointing: true
flash_attention: true
deepspeed:
fsdp:
)");
  CHECK(import.format == "axolotl");
  CHECK(import.issues.empty());
  CHECK(is_unused(import, "datasets.path"));
  CHECK(is_unused(import, "datasets.type"));
  CHECK(import.config.model_preset == "llama3.2-1b");  // by the last part of its name
  CHECK(value(import, "/recipe/micro_batch_size") == "2");
  CHECK(value(import, "/recipe/gradient_accumulation_steps") == "2");
  CHECK(value(import, "/recipe/sequence_length") == "2048");
  CHECK(value(import, "/recipe/optimizer") == "adamw_8bit");
  CHECK(value(import, "/recipe/attention") == "flash");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/lora/rank") == "16");
  CHECK(value(import, "/recipe/lora/dropout") == "0.05");
  CHECK(value(import, "/recipe/lora/targets") == "q,k,v,o,gate,up,down");
  CHECK(value(import, "/recipe/quantization") == "none");
  CHECK(value(import, "/recipe/precision") == "bf16_autocast");
  CHECK(value(import, "/recipe/weights_dtype") == "bf16");
  CHECK(value(import, "/recipe/data_parallel") == "ddp");
}

// axolotl-ai-cloud/axolotl 1c14c4a1, examples/llama-3/qlora-fsdp-70b.yaml
TEST_CASE("axolotl YAML: QLoRA with FSDP") {
  const Import import = import_text(R"(base_model: meta-llama/Meta-Llama-3-70B
load_in_4bit: true
adapter: qlora
sequence_len: 512
lora_r: 8
lora_target_modules:
lora_target_linear: true
micro_batch_size: 1
optimizer: adamw_torch
bf16: auto
gradient_checkpointing: true
gradient_checkpointing_kwargs:
  use_reentrant: true
flash_attention: true
fsdp:
  - full_shard
  - auto_wrap
fsdp_config:
  fsdp_limit_all_gathers: true
  fsdp_offload_params: true
  fsdp_sharding_strategy: FULL_SHARD
)");
  CHECK(import.config.model_preset == "llama3-70b");
  CHECK(value(import, "/recipe/quantization") == "nf4_double");
  CHECK(value(import, "/recipe/lora/targets") == "q,k,v,o,gate,up,down,other");
  CHECK(value(import, "/recipe/data_parallel") == "fsdp");
  CHECK(value(import, "/recipe/fsdp_version") == "1");
  CHECK(value(import, "/recipe/offload_parameters") == "1");
  CHECK(value(import, "/recipe/recomputation_reentrant") == "1");
  CHECK(why(import, "fsdp_config.fsdp_limit_all_gathers").empty());
}

// pytorch/torchtune 02d70355, recipes/configs/llama3_1/8B_full_single_device.yaml and 14857d88,
// 8B_lora_single_device.yaml
TEST_CASE("torchtune YAML: the published full and LoRA files") {
  const Import import = import_text(R"(# To launch on a single device, run the following command from root:
#   tune run full_finetune_single_device --config llama3_1/8B_full_single_device
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: /tmp/Meta-Llama-3.1-8B-Instruct/original/tokenizer.model
  max_seq_len: null
model:
  _component_: torchtune.models.llama3_1.llama3_1_8b
checkpointer:
  _component_: torchtune.training.FullModelHFCheckpointer
  checkpoint_dir: /tmp/Meta-Llama-3.1-8B-Instruct/
  checkpoint_files: [
    model-00001-of-00004.safetensors,
  ]
batch_size: 2
optimizer:
  _component_: bitsandbytes.optim.PagedAdamW8bit
  lr: 2e-5
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
gradient_accumulation_steps: 1  # Use to increase effective batch size
optimizer_in_bwd: True  # True saves memory. Requires gradient_accumulation_steps=1
clip_grad_norm: null
compile: False
enable_activation_checkpointing: True  # True reduces memory
enable_activation_offloading: False  # True reduces memory
dtype: bf16
)");
  CHECK(import.format == "torchtune");
  CHECK(import.issues.empty());
  CHECK(import.config.model_preset == "llama3.1-8b");
  CHECK(value(import, "/recipe/framework") == "torchtune");
  CHECK(value(import, "/recipe/micro_batch_size") == "2");
  CHECK(value(import, "/recipe/optimizer") == "adamw_paged_8bit");
  CHECK(value(import, "/recipe/optimizer_implementation") == "in_backward");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/precision") == "bf16");
  CHECK(value(import, "/recipe/loss") == "chunked");
  CHECK(value(import, "/recipe/lora/rank") == "0");
  const Import lora = import_text(R"(model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']
  apply_lora_to_mlp: True
  lora_rank: 8
  lora_dropout: 0.0
checkpointer:
  checkpoint_dir: /tmp/Meta-Llama-3.1-8B-Instruct/
tokenizer:
  max_seq_len: 8192
batch_size: 2
optimizer:
  _component_: torch.optim.AdamW
  fused: True
dtype: bf16
)");
  CHECK(value(lora, "/recipe/sequence_length") == "8192");
  CHECK(value(lora, "/recipe/lora/rank") == "8");
  CHECK(value(lora, "/recipe/lora/targets") == "q,v,o,gate,up,down");
  CHECK(value(lora, "/recipe/optimizer_implementation") == "fused");
}
