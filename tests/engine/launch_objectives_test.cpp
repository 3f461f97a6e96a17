// Objectives other than the next token, and frozen layers, in what people who fine-tune have at hand: command lines of
// TRL, YAML of axolotl and LLaMA-Factory.
#include <string>

#include "engine/config/text.h"
#include "engine/launch/import.h"
#include "tests/catch.h"
#include "tests/imports.h"

using namespace trainmem;

// huggingface/trl f2cd5771, trl/scripts/dpo.py
TEST_CASE("TRL's script for DPO: the published command with LoRA") {
  const Import import = import_text(R"(python trl/scripts/dpo.py \
    --dataset_name trl-lib/ultrafeedback_binarized \
    --model_name_or_path Qwen/Qwen2-0.5B-Instruct \
    --learning_rate 5.0e-6 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8 \
    --use_peft \
    --lora_r 32 \
    --lora_alpha 16)");
  CHECK(import.format == "trainer");
  CHECK(value(import, "/recipe/objective") == "dpo");
  CHECK(value(import, "/recipe/micro_batch_size") == "2");
  CHECK(value(import, "/recipe/sequence_length") == "1024");
  CHECK(value(import, "/recipe/lora/rank") == "32");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/precision") == "bf16_autocast");
  CHECK(value(import, "/recipe/padding") == "1");  // a pair's sequences differ in length
}

// huggingface/trl f2cd5771, docs/source/lora_without_regret.md
TEST_CASE("TRL's script for GRPO: the published command with LoRA") {
  const Import import = import_text(R"(uv run grpo.py \
    --model_name_or_path Qwen/Qwen3-0.6B \
    --beta 0.0 \
    --max_completion_length 4096 \
    --num_generations 16 \
    --gradient_accumulation_steps 8 \
    --per_device_train_batch_size 1 \
    --use_peft \
    --lora_r 1 \
    --lora_target_modules all-linear \
    --use_vllm \
    --vllm_mode colocate)");
  CHECK(import.format == "trainer");
  CHECK(value(import, "/recipe/objective") == "grpo");
  CHECK(value(import, "/recipe/completion_length") == "4096");
  CHECK(value(import, "/recipe/sequence_length") == "4608");
  CHECK(value(import, "/recipe/reference_model") == "none");
  CHECK(value(import, "/recipe/old_log_probabilities") == "1");
  CHECK(value(import, "/recipe/vllm_memory_fraction") == "0.3");
  CHECK(value(import, "/recipe/lora/rank") == "1");
  CHECK(value(import, "/recipe/padding") == "1");
}

// huggingface/trl f2cd5771, trainer/kto_config.py: sequences stand alone
TEST_CASE("TRL's script for KTO: one sequence alone is not padded") {
  const std::string kto =
      "python trl/scripts/kto.py --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct "
      "--per_device_train_batch_size ";
  CHECK(value(import_text(kto + "1"), "/recipe/padding") == "0");
  CHECK(value(import_text(kto + "4"), "/recipe/padding") == "1");
}

TEST_CASE("axolotl and LLaMA-Factory YAML: policies, reward models and pairs without a reference") {
  const Import grpo = import_text(
      "base_model: meta-llama/Llama-3.1-8B\nrl: grpo\nmicro_batch_size: 1\nsequence_len: 2048\n"
      "trl:\n  beta: 0.001\n  max_completion_length: 256\n  use_vllm: true\n");
  CHECK(value(grpo, "/recipe/objective") == "grpo");
  CHECK(value(grpo, "/recipe/completion_length") == "256");
  CHECK(value(grpo, "/recipe/reference_model") == "copy");
  CHECK(value(grpo, "/recipe/old_log_probabilities") == "1");
  CHECK(value(grpo, "/recipe/padding") == "1");
  CHECK(value(import_text("base_model: meta-llama/Llama-3.1-8B\nrl: orpo\n"), "/recipe/objective") == "orpo");
  CHECK(value(import_text("base_model: meta-llama/Llama-3.1-8B\nrl: kto\n"), "/recipe/objective") == "kto");
  CHECK(value(import_text("base_model: meta-llama/Llama-3.1-8B\nreward_model: true\n"), "/recipe/objective") ==
        "reward");
  const std::string llama = "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nfinetuning_type: lora\n";
  const Import rm = import_text(llama + "stage: rm\ncutoff_len: 2048\n");
  CHECK(value(rm, "/recipe/objective") == "reward");
  CHECK(why(rm, "stage").find("more") != std::string::npos);
  CHECK(value(import_text(llama + "stage: dpo\npref_loss: simpo\ncutoff_len: 2048\n"), "/recipe/objective") == "simpo");
}

TEST_CASE("axolotl and LLaMA-Factory YAML: preferences, and layers that are frozen") {
  const Import axolotl = import_text("base_model: meta-llama/Llama-3.1-8B\nrl: dpo\nmicro_batch_size: 1\n");
  CHECK(value(axolotl, "/recipe/objective") == "dpo");
  CHECK(is_unused(import_text("base_model: meta-llama/Llama-3.1-8B\nrl: ipo\n"), "rl"));

  const Import factory = import_text(
      "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nstage: dpo\nfinetuning_type: lora\n"
      "cutoff_len: 2048\nbf16: true\n");
  CHECK(value(factory, "/recipe/objective") == "dpo");
  CHECK(value(factory, "/recipe/padding") == "1");
  CHECK(why(factory, "stage").find("more") != std::string::npos);  // its own step is another

  const Import freeze = import_text(
      "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nstage: sft\nfinetuning_type: freeze\n"
      "freeze_trainable_layers: 8\ncutoff_len: 2048\npure_bf16: true\n");
  CHECK(value(freeze, "/recipe/frozen_layers") == "24");
  CHECK(value(freeze, "/recipe/frozen_head") == "1");
  CHECK(value(freeze, "/recipe/precision") == "bf16");
}
