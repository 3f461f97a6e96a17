// Command lines of ms-swift. The texts are excerpts of its examples; defaults as its sources have them.
#include <algorithm>
#include <string>

#include "engine/launch/import.h"
#include "tests/catch.h"
#include "tests/imports.h"

using namespace trainmem;

// modelscope/ms-swift 3602360a, examples/train/lora_sft.sh.
TEST_CASE("ms-swift arguments: the published LoRA example") {
  const Import import = import_text(R"(CUDA_VISIBLE_DEVICES=0 \
swift sft \
    --model Qwen/Qwen2.5-7B-Instruct \
    --tuner_type lora \
    --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' \
              'swift/self-cognition#500' \
    --torch_dtype bfloat16 \
    --per_device_train_batch_size 1 \
    --learning_rate 1e-4 \
    --lora_rank 8 \
    --lora_alpha 32 \
    --target_modules all-linear \
    --gradient_accumulation_steps 16 \
    --max_length 2048)");
  CHECK(import.format == "ms_swift");
  CHECK(import.issues.empty());
  CHECK(import.config.model_preset == "qwen2.5-7b");
  CHECK(value(import, "/recipe/micro_batch_size") == "1");
  CHECK(value(import, "/recipe/gradient_accumulation_steps") == "16");
  CHECK(value(import, "/recipe/sequence_length") == "2048");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/recomputation_reentrant") == "1");
  CHECK(value(import, "/recipe/precision") == "bf16_autocast");
  CHECK(value(import, "/recipe/weights_dtype") == "bf16");
  CHECK(value(import, "/recipe/training_loop") == "trainer");
  CHECK(value(import, "/recipe/lora/rank") == "8");
  CHECK(value(import, "/recipe/lora/dropout") == "0.05");
  CHECK(value(import, "/recipe/lora/targets") == "q,k,v,o,gate,up,down,other");
  CHECK(why(import, "learning_rate").empty());
  CHECK(why(import, "use_logits_to_keep").find("every token") != std::string::npos);
}

// examples/train/full/qwen2_5_32b.sh.
TEST_CASE("ms-swift arguments: full training on eight GPUs with ZeRO-3") {
  const Import import = import_text(R"(PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True' \
NPROC_PER_NODE=8 \
CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 \
swift sft \
    --model Qwen/Qwen2.5-32B \
    --tuner_type full \
    --torch_dtype bfloat16 \
    --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 2 \
    --packing true \
    --max_length 8192 \
    --deepspeed zero3 \
    --use_liger_kernel true \
    --attn_impl flash_attn)");
  CHECK(import.format == "ms_swift");
  CHECK(import.config.model_preset == "qwen2.5-32b");
  CHECK(value(import, "/recipe/expandable_segments") == "1");
  CHECK(value(import, "/recipe/data_parallel_size") == "8");
  CHECK(value(import, "/recipe/framework") == "deepspeed");
  CHECK(value(import, "/recipe/data_parallel") == "zero3");
  CHECK(value(import, "/recipe/precision") == "bf16_mixed");
  CHECK(value(import, "/recipe/weights_dtype") == "auto");
  CHECK(value(import, "/recipe/attention") == "flash");
  CHECK(value(import, "/recipe/loss") == "fused_linear");
  CHECK(value(import, "/recipe/lora/rank") == "0");
  CHECK(value(import, "/recipe/recomputation_reentrant") == "1");
}

TEST_CASE("ms-swift arguments: data parallelism alone recomputes without re-entrance; formats follow the checkpoint") {
  const Import import = import_text(
      "NPROC_PER_NODE=2 NNODES=2 swift sft --model Qwen/Qwen2.5-7B --train_type lora "
      "--quant_method bnb --quant_bits 4 --target_modules q_proj v_proj");
  CHECK(value(import, "/recipe/data_parallel_size") == "4");
  CHECK(value(import, "/recipe/recomputation_reentrant") == "0");
  CHECK(value(import, "/recipe/precision") == "bf16_autocast");
  CHECK(value(import, "/recipe/quantization") == "nf4_double");
  CHECK(value(import, "/recipe/lora/rank") == "8");
  CHECK(value(import, "/recipe/lora/targets") == "q,v");
  CHECK(why(import, "torch_dtype").find("bfloat16") != std::string::npos);
}

TEST_CASE("ms-swift arguments: preferences, other losses and other tasks") {
  const Import dpo = import_text("swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --torch_dtype bfloat16");
  CHECK(value(dpo, "/recipe/objective") == "dpo");
  CHECK(value(dpo, "/recipe/lora/rank") == "8");  // tuner_type is lora by default
  CHECK(value(dpo, "/recipe/training_loop") == "trainer");
  CHECK(std::any_of(dpo.applied.begin(), dpo.applied.end(),
                    [](const AppliedKey& each) { return each.key == "swift" && each.value == "rlhf"; }));
  CHECK_FALSE(why(import_text("swift rlhf --rlhf_type kto --model Qwen/Qwen2.5-7B"), "rlhf_type").empty());
  CHECK_FALSE(why(import_text("swift sft --task_type seq_cls --model Qwen/Qwen2.5-7B"), "task_type").empty());
  CHECK_FALSE(why(import_text("swift sft --tuner_type reft --model Qwen/Qwen2.5-7B"), "tuner_type").empty());
}

TEST_CASE("import: a variable of PyTorch's allocator counts before other commands, too") {
  const Import import = import_text(
      "PYTORCH_ALLOC_CONF=expandable_segments:True,max_split_size_mb:512 torchrun "
      "--nproc_per_node 2 train.py --model_name_or_path gpt2 --bf16");
  CHECK(import.format == "trainer");
  CHECK(value(import, "/recipe/expandable_segments") == "1");
  CHECK_FALSE(why(import, "PYTORCH_ALLOC_CONF").empty());
  CHECK(value(import_text("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\npython pretrain_gpt.py "
                          "--num-layers 2 --hidden-size 128 --num-attention-heads 2"),
              "/recipe/expandable_segments") == "1");
}

TEST_CASE("import: dotted settings of other programs are not torchtitan's") {
  const Import import = import_text(
      "python3 -m verl.trainer.main_ppo data.max_prompt_length=512 "
      "actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct");
  REQUIRE(import.issues.size() == 1);
  CHECK(import.issues[0].code == "unknown_format");
  CHECK(import_text("[training]\nseq_len = 4096").format == "torchtitan");
}
