import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, TrainingArguments
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from trl import SFTTrainer, SFTConfig

model_id = "meta-llama/Llama-3.1-8B"  # gated
max_len = 2048

bnb_config = BitsAndBytesConfig(
    load_in_4bit=True,
    bnb_4bit_quant_type="nf4",
    bnb_4bit_compute_dtype=torch.bfloat16,
    bnb_4bit_use_double_quant=True,  # saves 0.4 bit
)
model = AutoModelForCausalLM.from_pretrained(
    model_id, quantization_config=bnb_config, torch_dtype=torch.bfloat16,
    device_map="auto", attn_implementation="flash_attention_2",
)
model = prepare_model_for_kbit_training(model)
peft_config = LoraConfig(
    r=16, lora_alpha=32, lora_dropout=0.05,
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], bias="none", task_type="CAUSAL_LM",
)
args = SFTConfig(
    output_dir="out", per_device_train_batch_size=4, gradient_accumulation_steps=4,
    gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": False},
    learning_rate=2e-4, bf16=True, max_length=max_len, optim="paged_adamw_8bit",
    num_train_epochs=epochs, max_grad_norm=clip, report_to="none",
)
trainer = SFTTrainer(model=model, args=args, peft_config=peft_config, train_dataset=ds)
