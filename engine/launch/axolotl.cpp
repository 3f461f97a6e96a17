// axolotl's YAML. Source: axolotl-ai-cloud/axolotl, utils/schemas/config.py (keys), utils/config/__init__.py
// (resolve_dtype: weights are loaded in the format of the computation), loaders/model.py (quantisation),
// utils/schemas/trl.py.
#include <iterator>

#include "engine/config/values.h"
#include "engine/launch/fine_tuning.h"
#include "engine/launch/trl.h"

namespace trainmem {
namespace {

constexpr KeyRule rules[] = {
    {"micro_batch_size", "/recipe/micro_batch_size"},
    {"gradient_accumulation_steps", "/recipe/gradient_accumulation_steps"},
    {"sequence_len", "/recipe/sequence_length"},
    {"gradient_checkpointing", "/recipe/recomputation", "true", "full"},
    {"gradient_checkpointing", "/recipe/recomputation", "false", "none"},
    {"gradient_checkpointing", "/recipe/recomputation", "offload", "full"},
    {"gradient_checkpointing", "/recipe/offload_checkpoints", "offload", "1"},
    {"gradient_checkpointing", "/recipe/recomputation", "unsloth", "full"},
    {"gradient_checkpointing", "/recipe/offload_checkpoints", "unsloth", "1"},
    {"gradient_checkpointing_kwargs.use_reentrant", "/recipe/recomputation_reentrant"},
    {"activation_offloading", "/recipe/offload_checkpoints", "true", "1"},
    {"max_grad_norm", "/recipe/gradient_clipping", "0", "0"},
    {"max_grad_norm", "/recipe/gradient_clipping", "0.0", "0"},
    {"max_grad_norm", "/recipe/gradient_clipping", "*", "1"},
    {"flash_attention", "/recipe/attention", "true", "flash"},
    {"flash_attention", "/recipe/attention", "false", "sdpa"},
    {"sdp_attention", "/recipe/attention", "true", "sdpa"},
    {"eager_attention", "/recipe/attention", "true", "eager"},
    {"attn_implementation", "/recipe/attention", "flash_attention_2", "flash"},
    {"attn_implementation", "/recipe/attention", "flash_attention_3", "flash"},
    {"attn_implementation", "/recipe/attention", "sdpa", "sdpa"},
    {"attn_implementation", "/recipe/attention", "eager", "eager"},
    {"xformers_attention", nullptr, "true", "xFormers' attention is counted as PyTorch's fused one."},
    {"flex_attention", nullptr, "true", "FlexAttention is counted as PyTorch's fused attention."},
    {"load_in_8bit", "/recipe/quantization", "true", "int8"},
    {"load_in_8bit", "/recipe/quantization", "false", "none"},
    {"load_in_4bit", "/recipe/quantization", "true", "nf4_double"},  // bnb_4bit_use_double_quant is set
    {"load_in_4bit", "/recipe/quantization", "false", "none"},
    {"lora_r", "/recipe/lora/rank"},
    {"lora_dropout", "/recipe/lora/dropout"},
    {"peft_use_dora", nullptr, "true", "DoRA is counted as LoRA."},
    {"lora_modules_to_save", nullptr, "*", uncounted},
    {"unfrozen_parameters", nullptr, "*", uncounted},
    {"lora_mlp_kernel", nullptr, "true", uncounted},
    {"lora_qkv_kernel", nullptr, "true", uncounted},
    {"lora_o_kernel", nullptr, "true", uncounted},
    {"liger_fused_linear_cross_entropy", "/recipe/loss", "true", "fused_linear"},
    {"liger_cross_entropy", "/recipe/loss", "true", "fused"},
    {"liger_rms_norm", "/recipe/fused_norm", "true", "1"},
    {"liger_glu_activation", "/recipe/fused_mlp", "true", "1"},
    {"liger_swiglu", "/recipe/fused_mlp", "true", "1"},
    {"liger_rope", "/recipe/fused_rope", "true", "1"},
    {"cut_cross_entropy", nullptr, "true", uncounted},
    {"chunked_cross_entropy", "/recipe/loss", "true", "chunked"},
    {"tensor_parallel_size", nullptr, "*", "Tensor parallelism of transformers' classes is not modelled."},
    {"context_parallel_size", nullptr, "*", "Context parallelism of transformers' classes is not modelled."},
    {"sequence_parallel_degree", nullptr, "*", "Context parallelism of transformers' classes is not modelled."},
    {"rl", "/recipe/objective", "dpo", "dpo"},
    {"rl", "/recipe/objective", "grpo", "grpo"},
    {"rl", "/recipe/objective", "orpo", "orpo"},
    {"rl", "/recipe/objective", "simpo", "simpo"},
    {"rl", "/recipe/objective", "kto", "kto"},
    {"rl", nullptr, "*", other_loss},
    {"reward_model", "/recipe/objective", "true", "reward"},
    {"trl.max_completion_length", "/recipe/completion_length"},
    {"trl.num_iterations", "/recipe/old_log_probabilities", "1", "0"},
    {"trl.num_iterations", "/recipe/old_log_probabilities", "*", "1"},
    {"trl.use_vllm", "/recipe/old_log_probabilities", "true", "1"},  // vLLM itself runs as a server
    {"rl_adapter_ref_model", "/recipe/reference_model", "true", "copy"},
    {"precompute_ref_log_probs", "/recipe/reference_model", "true", "precomputed"},
    {"torch_compile", nullptr, "true", "The model compiled as one whole is not modelled."},
    {"fsdp_config.fsdp_offload_params", "/recipe/offload_parameters", "true", "1"},
    {"fsdp_config.fsdp_offload_params", "/recipe/offload_optimizer", "true", "1"},
    {"fsdp_config.fsdp_offload_params", "/recipe/offload_parameters", "false", "0"},
    {"fsdp_config.offload_params", "/recipe/offload_parameters", "true", "1"},
    {"fsdp_config.offload_params", "/recipe/offload_optimizer", "true", "1"},
    {"fsdp_config.offload_params", "/recipe/offload_parameters", "false", "0"},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/reshard_after_forward", "shard_grad_op", "never"},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/reshard_after_forward", "full_shard", "auto"},
    {"fsdp_config.reshard_after_forward", "/recipe/reshard_after_forward", "true", "auto"},
    {"fsdp_config.reshard_after_forward", "/recipe/reshard_after_forward", "false", "never"},
    {"fsdp_config.fsdp_activation_checkpointing", "/recipe/recomputation", "true", "full"},
    {"fsdp_config.activation_checkpointing", "/recipe/recomputation", "true", "full"},
};

void finish_adapters(SettingsReading& reading) {
  Recipe& recipe = reading.out().config.recipe;
  const std::string* adapter = reading.find("adapter");
  if (adapter == nullptr || !is_set(reading, "adapter")) {
    recipe.lora = Lora{};
    for (const char* key : {"lora_r", "lora_dropout", "lora_target_modules", "lora_target_linear"})
      reading.leave(key, "Without an adapter it has no meaning.");
    return;
  }
  if (*adapter != "lora" && *adapter != "qlora") {
    reading.leave("adapter", "Counted are lora and qlora.");
    return;
  }
  if (recipe.lora.rank == 0) recipe.lora.rank = 8;  // PEFT's default
  reading.note("adapter", "/recipe/lora/rank", std::to_string(recipe.lora.rank));
  recipe.lora.targets = "q,v";  // PEFT's choice for most models
  take_lora_targets(reading, "lora_target_modules");
  if (is_set(reading, "lora_target_linear"))
    reading.apply("lora_target_linear", "/recipe/lora/targets", "q,k,v,o,gate,up,down,other");
}

void finish(SettingsReading& reading) {
  take_model(reading, "base_model");
  take_optimizer(reading, "optimizer");
  take_fsdp(reading, reading.find("fsdp") != nullptr ? "fsdp" : "fsdp_version");
  take_deepspeed(reading, "deepspeed");
  finish_adapters(reading);
  if (reading.out().config.recipe.objective == Objective::grpo) take_beta(reading, "trl.beta");
  take_packing(reading, "sample_packing");
  take_padding_of_objective(reading, reading.find("rl") != nullptr ? "rl" : "reward_model");
  take_precision(reading);
  const Recipe& recipe = reading.out().config.recipe;
  const std::string* bf16 = reading.find("bf16");
  if (bf16 != nullptr && *bf16 == "full") {
    reading.apply("bf16", "/recipe/precision", "bf16");
  } else if (recipe.precision == Precision::bf16_autocast) {
    reading.apply("bf16", "/recipe/weights_dtype", "bf16");
  } else if (recipe.precision == Precision::fp16_autocast) {
    reading.apply("fp16", "/recipe/weights_dtype", "fp16");
  }
}

constexpr SettingsFormat format = {
    "axolotl", "axolotl YAML", "config.yaml", rules,  static_cast<int>(std::size(rules)), false, trainer_defaults,
    finish,    nullptr,        read_yaml,     nullptr};

}  // namespace

const SettingsFormat& axolotl_format() { return format; }

}  // namespace trainmem
