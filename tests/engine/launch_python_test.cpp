// Python as notebooks have it. Expected are the values that the libraries' documentation gives for these arguments, and
// their defaults: transformers 5.16 training_args.py, trl 016013e8 trainer/sft_config.py, peft 00a4d080
// tuners/lora/config.py, unsloth 00060afe models/loader.py.
#include <string>

#include "engine/config/text.h"
#include "engine/launch/import.h"
#include "engine/launch/python_calls.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

std::string value(const Import& import, const char* path) {
  return value_text(*find_field_by_path(path), import.config);
}

std::string why(const Import& import, const std::string& key) {
  for (const UnusedKey& one : import.unused) {
    if (one.key == key) return one.why;
  }
  return "used";
}

std::string shown(const std::string& text) {
  std::string out;
  for (const PythonCall& call : read_python_calls(text, [](std::string_view name) { return name == "f"; })) {
    out += call.name;
    for (const Setting& one : call.arguments) out += " " + one.key + (one.unread ? "?" : "=") + one.value;
    out += ";";
  }
  return out;
}

constexpr const char* qlora = R"(import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from peft import LoraConfig, prepare_model_for_kbit_training
from trl import SFTConfig, SFTTrainer

model_id = "meta-llama/Llama-3.1-8B"  # don't forget to log in
max_len = 2_048

bnb_config = BitsAndBytesConfig(
    load_in_4bit=True,
    bnb_4bit_quant_type="nf4",
    bnb_4bit_compute_dtype=torch.bfloat16,
    bnb_4bit_use_double_quant=True,  # the constants too
)
tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained(
    model_id, quantization_config=bnb_config, torch_dtype=torch.bfloat16, device_map={"": 0},
    attn_implementation="flash_attention_2",
)
model = prepare_model_for_kbit_training(model)
peft_config = LoraConfig(
    r=32, lora_alpha=16, lora_dropout=0.1, task_type="CAUSAL_LM",
    target_modules=["q_proj", "k_proj",  # attention
                    "v_proj", "o_proj"],
)
training_args = SFTConfig(
    output_dir="out", per_device_train_batch_size=4, gradient_accumulation_steps=2,
    gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": False},
    bf16=True, max_length=max_len, optim="paged_adamw_8bit", learning_rate=2e-4, num_train_epochs=epochs,
    max_grad_norm=clip, report_to="none",
)
trainer = SFTTrainer(model=model, args=training_args, peft_config=peft_config, train_dataset=dataset)
trainer.train()
)";

}  // namespace

TEST_CASE("Python: QLoRA with TRL, transformers and PEFT") {
  const Import import = import_text(qlora);
  CHECK(import.format == "python");
  CHECK(import.issues.empty());
  CHECK(import.has_model);
  CHECK(import.config.model_preset == "llama3.1-8b");  // the tokenizer's name is no model's
  CHECK(value(import, "/recipe/training_loop") == "trainer");
  CHECK(value(import, "/recipe/quantization") == "nf4_double");
  CHECK(value(import, "/recipe/weights_dtype") == "bf16");
  CHECK(value(import, "/recipe/attention") == "flash");
  CHECK(value(import, "/recipe/lora/rank") == "32");
  CHECK(value(import, "/recipe/lora/dropout") == "0.1");
  CHECK(value(import, "/recipe/lora/targets") == "q,k,v,o");
  CHECK(value(import, "/recipe/micro_batch_size") == "4");
  CHECK(value(import, "/recipe/gradient_accumulation_steps") == "2");
  CHECK(value(import, "/recipe/sequence_length") == "2048");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/recomputation_reentrant") == "0");
  CHECK(value(import, "/recipe/precision") == "bf16_autocast");
  CHECK(value(import, "/recipe/optimizer") == "adamw_paged_8bit");
  CHECK(why(import, "learning_rate").empty());
  CHECK(why(import, "num_train_epochs").empty());
  CHECK(why(import, "max_grad_norm").find("put its value in") != std::string::npos);
  CHECK(why(import, "prepare_model_for_kbit_training").find("fp32") != std::string::npos);
}

TEST_CASE("Python: what is not said is as the libraries have it") {
  const Import sft = import_text(R"(SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig(), peft_config=LoraConfig()))");
  CHECK(value(sft, "/recipe/micro_batch_size") == "8");
  CHECK(value(sft, "/recipe/sequence_length") == "1024");
  CHECK(value(sft, "/recipe/recomputation") == "full");
  CHECK(value(sft, "/recipe/precision") == "bf16_autocast");
  CHECK(value(sft, "/recipe/lora/rank") == "8");
  CHECK(value(sft, "/recipe/lora/dropout") == "0");
  CHECK(value(sft, "/recipe/lora/targets") == "q,v");
  const Import trainer = import_text("args = TrainingArguments(output_dir='x', per_device_eval_batch_size=1)");
  CHECK(value(trainer, "/recipe/micro_batch_size") == "8");
  CHECK(value(trainer, "/recipe/precision") == "fp32");
  CHECK(value(trainer, "/recipe/recomputation") == "none");
  CHECK(value(trainer, "/recipe/lora/rank") == "0");
  CHECK_FALSE(trainer.has_model);
  const Import single = import_text("BitsAndBytesConfig(load_in_4bit=True)");
  CHECK(value(single, "/recipe/quantization") == "nf4");  // double quantisation is off
}

// unslothai/notebooks: the cells that every one of them has.
TEST_CASE("Python: Unsloth's notebook is read as far as it is modelled") {
  const Import import = import_text(R"(max_seq_length = 2048 # Choose any!
dtype = None # None for auto detection. Float16 for Tesla T4, V100, Bfloat16 for Ampere+
load_in_4bit = True
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name = "unsloth/Meta-Llama-3.1-8B", max_seq_length = max_seq_length, dtype = dtype,
    load_in_4bit = load_in_4bit,
    # token = "hf_...", # use one if using gated models
)
model = FastLanguageModel.get_peft_model(
    model,
    r = 16, # Choose any number > 0 ! Suggested 8, 16, 32, 64, 128
    target_modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",],
    lora_alpha = 16, lora_dropout = 0, bias = "none",
    use_gradient_checkpointing = "unsloth", # True or "unsloth" for very long context
)
trainer = SFTTrainer(model = model, tokenizer = tokenizer, args = TrainingArguments(
    per_device_train_batch_size = 2, gradient_accumulation_steps = 4,
    fp16 = not is_bfloat16_supported(), bf16 = is_bfloat16_supported(), optim = "adamw_8bit"))
)");
  CHECK(import.config.model_preset == "llama3.1-8b");
  CHECK(value(import, "/recipe/sequence_length") == "2048");
  CHECK(value(import, "/recipe/quantization") == "nf4_double");
  CHECK(value(import, "/recipe/lora/rank") == "16");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/offload_checkpoints") == "1");
  CHECK(value(import, "/recipe/precision") == "bf16_autocast");
  CHECK(value(import, "/recipe/weights_dtype") == "bf16");
  CHECK(why(import, "use_unsloth").find("Unsloth") != std::string::npos);
}

// huggingface/trl f2cd5771, trainer/grpo_config.py: beta 0, max_completion_length 512, vllm_gpu_memory_utilization 0.3.
TEST_CASE("Python: TRL's GRPOConfig, RewardConfig, ORPOConfig, CPOConfig and KTOConfig") {
  const Import grpo = import_text("args = GRPOConfig(use_vllm=True, max_completion_length=1024, beta=0.04)\n");
  CHECK(value(grpo, "/recipe/objective") == "grpo");
  CHECK(value(grpo, "/recipe/completion_length") == "1024");
  CHECK(value(grpo, "/recipe/sequence_length") == "1536");  // with a prompt of 512
  CHECK(value(grpo, "/recipe/vllm_memory_fraction") == "0.3");
  CHECK(value(grpo, "/recipe/old_log_probabilities") == "1");
  CHECK(value(grpo, "/recipe/reference_model") == "copy");
  const Import server = import_text("GRPOConfig(use_vllm=True, vllm_mode='server', beta=0.0, loss_type='dr_grpo')\n");
  CHECK(value(server, "/recipe/vllm_memory_fraction") == "0");
  CHECK(value(server, "/recipe/reference_model") == "none");
  CHECK(value(import_text("GRPOConfig(num_iterations=2)\n"), "/recipe/old_log_probabilities") == "1");
  const Import reward = import_text("RewardConfig(bf16=True)\n");
  CHECK(value(reward, "/recipe/objective") == "reward");
  CHECK(value(reward, "/recipe/sequence_length") == "1024");
  CHECK(value(import_text("ORPOConfig(beta=0.1)\n"), "/recipe/objective") == "orpo");
  CHECK(value(import_text("CPOConfig(beta=0.1)\n"), "/recipe/objective") == "cpo");
  CHECK(value(import_text("KTOConfig(beta=0.1)\n"), "/recipe/objective") == "kto");
  CHECK(value(import_text("CPOConfig(loss_type='simpo', cpo_alpha=0.0)\n"), "/recipe/objective") == "simpo");
  CHECK(value(import_text("CPOConfig(loss_type='simpo', cpo_alpha=1.0)\n"), "/recipe/objective") == "cpo");
}

// huggingface/trl f2cd5771, docs/source/dpo_trainer.md, with an explicit reference; trainer/dpo_config.py: max_length
// 1024, gradient_checkpointing and bf16 are its defaults.
TEST_CASE("Python: TRL's DPOConfig and DPOTrainer") {
  const char* cell = R"(from trl import DPOConfig, DPOTrainer
training_args = DPOConfig(output_dir="Qwen2-0.5B-DPO")
trainer = DPOTrainer(model=model, args=training_args, processing_class=tokenizer, train_dataset=train_dataset)";
  const Import import = import_text(std::string(cell) + ")\n");
  CHECK(import.issues.empty());
  CHECK(value(import, "/recipe/objective") == "dpo");
  CHECK(value(import, "/recipe/reference_model") == "auto");
  CHECK(value(import, "/recipe/micro_batch_size") == "8");
  CHECK(value(import, "/recipe/sequence_length") == "1024");
  CHECK(value(import, "/recipe/recomputation") == "full");
  CHECK(value(import, "/recipe/precision") == "bf16_autocast");
  CHECK(value(import_text(std::string(cell) + ", ref_model=ref)\n"), "/recipe/reference_model") == "copy");
  CHECK(value(import_text(std::string(cell) + ", ref_model=None)\n"), "/recipe/reference_model") == "auto");
  CHECK(value(import_text("DPOConfig(precompute_ref_log_probs=True)\n"), "/recipe/reference_model") == "precomputed");
}

TEST_CASE("Python: values that stand in the text, and those that it computes") {
  CHECK(shown("f(a=1, b=-2.5e-3, c='x', d=None, e=not True)") == "f a=1 b=-2.5e-3 c=x d=None e=false;");
  CHECK(shown("f(torch.float16, a=torch.half, b=torch.device('cuda'))") ==
        "f 0=float16 a=float16 b?torch.device('cuda');");
  CHECK(shown("f(a=[1, 'x'], b=(2, 3), c=[1, n])") == "f a=[1, x] b=[2, 3] c?[1, n];");
  CHECK(shown("f(a={'x': 1, 'y': {'z': True}}, b=dict(c=2))") == "f a.x=1 a.y.z=true b.c=2;");
  CHECK(shown("n = 4\nf(a=n, b=n * 2, c=m)") == "f a=4 b?n * 2 c?m;");
  CHECK(shown("if big:\n  n = 4\nelse:\n  n = 8\nf(a=n)") == "f a?n;");
  CHECK(shown("g(\n  n=4,\n)\nf(a=n)") == "f a?n;");  // an argument of another call gives no value
  CHECK(shown("f(a=f'{n}', b=r'\\d', c=\"\"\"x\ny\"\"\", d='it' + 's')") == "f a?f'{n}' b=\\d c=x\ny d?'it' + 's';");
  CHECK(shown("def f(a=1): pass\nclass f(x): pass\n# f(a=2)\ns = 'f(a=3)'\nf(*a, **b)") == "f 0?*a **b?;");
  CHECK(shown("x = f(a=1)\nf(b=x, c=g(f(d=2)))") == "f a=1;f d=2;f;");
}

TEST_CASE("Python: a notebook's file is its code") {
  const Import import = import_text(R"json({
    "cells": [
      {"cell_type": "markdown", "source": ["TrainingArguments(bf16=True)"]},
      {"cell_type": "code", "source": ["b = 2\n", "TrainingArguments(\n", "  per_device_train_batch_size=b)"]}
    ],
    "nbformat": 4
  })json");
  CHECK(import.format == "python");
  CHECK(value(import, "/recipe/micro_batch_size") == "2");
  CHECK(value(import, "/recipe/precision") == "fp32");
  CHECK(import_text(R"({"cells": [{"cell_type": "code", "source": "1 + 1"}], "nbformat": 4})").issues[0].code ==
        "unknown_format");
}

TEST_CASE("Python: cut anywhere, an answer") {
  const std::string text = qlora;
  for (std::size_t end = 0; end <= text.size(); ++end) {
    const Import import = import_text(std::string_view(text).substr(0, end));
    CHECK((import.format == "python" || !import.issues.empty()));
  }
  for (const char* opened : {"f(", "f([", "f({'a':", "f(a=f(", "f(a='", "f(a=\"\"\"", "f(a=("}) {
    std::string deep;
    while (deep.size() < 200000) deep += opened;
    CHECK(read_python_calls(deep, [](std::string_view name) { return name == "f"; }).size() < 100);
  }
}
