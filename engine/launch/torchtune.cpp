// torchtune's YAML. Source: pytorch/torchtune, recipes/configs/*.yaml and recipes/*.py, 02d70355.
#include <iterator>

#include "engine/config/values.h"
#include "engine/launch/fine_tuning.h"

namespace trainmem {
namespace {

constexpr KeyRule rules[] = {
    {"batch_size", "/recipe/micro_batch_size"},
    {"gradient_accumulation_steps", "/recipe/gradient_accumulation_steps"},
    {"tokenizer.max_seq_len", nullptr, "null", "The data say how long sequences are."},
    {"tokenizer.max_seq_len", "/recipe/sequence_length"},
    {"dtype", "/recipe/precision", "bf16", "bf16"},
    {"dtype", "/recipe/precision", "fp32", "fp32"},
    {"dtype", "/recipe/precision", "fp16", "fp16"},
    {"enable_activation_checkpointing", "/recipe/recomputation", "true", "full"},
    {"enable_activation_checkpointing", "/recipe/recomputation", "false", "none"},
    {"enable_activation_offloading", "/recipe/offload_checkpoints", "true", "1"},
    {"enable_activation_offloading", "/recipe/offload_checkpoints", "false", "0"},
    {"optimizer._component_", "/recipe/optimizer", "torch.optim.AdamW", "adamw"},
    {"optimizer._component_", "/recipe/optimizer_implementation", "torch.optim.AdamW", "foreach"},
    {"optimizer._component_", "/recipe/optimizer", "torch.optim.SGD", "sgd"},
    {"optimizer._component_", "/recipe/optimizer", "bitsandbytes.optim.AdamW8bit", "adamw_8bit"},
    {"optimizer._component_", "/recipe/optimizer", "bitsandbytes.optim.PagedAdamW", "adamw_paged"},
    {"optimizer._component_", "/recipe/optimizer", "bitsandbytes.optim.PagedAdamW8bit", "adamw_paged_8bit"},
    {"optimizer._component_", "/recipe/optimizer", "torchao.optim.AdamW8bit", "adamw_torchao_8bit"},
    {"optimizer._component_", "/recipe/optimizer", "torchao.optim.AdamW4bit", "adamw_torchao_4bit"},
    {"optimizer._component_", "/recipe/optimizer", "torchao.optim.AdamWFp8", "adamw_torchao_fp8"},
    {"optimizer.fused", "/recipe/optimizer_implementation", "true", "fused"},
    {"optimizer.fused", "/recipe/optimizer_implementation", "false", "foreach"},
    {"optimizer_in_bwd", "/recipe/optimizer_implementation", "true", "in_backward"},
    {"clip_grad_norm", "/recipe/gradient_clipping", "null", "0"},
    {"clip_grad_norm", "/recipe/gradient_clipping", "*", "1"},
    {"compile", "/recipe/compile_blocks", "true", "1"},
    {"compile", "/recipe/compile_loss", "true", "1"},
    {"compile", "/recipe/compile_blocks", "false", "0"},
    {"loss._component_", "/recipe/loss", "torchtune.modules.loss.LinearCrossEntropyLoss", "chunked"},
    {"loss._component_", "/recipe/loss", "torchtune.modules.loss.CEWithChunkedOutputLoss", "chunked"},
    {"loss._component_", "/recipe/loss", "torch.nn.CrossEntropyLoss", "full"},
    {"model.lora_rank", "/recipe/lora/rank"},
    {"model.lora_dropout", "/recipe/lora/dropout"},
    {"model.quantize_base", "/recipe/quantization", "true", "nf4_double"},
    {"model.apply_lora_to_output", nullptr, "true", uncounted},
    {"model.use_dora", nullptr, "true", "DoRA is counted as LoRA."},
    {"fsdp_cpu_offload", "/recipe/offload_parameters", "true", "1"},
    {"fsdp_cpu_offload", "/recipe/offload_optimizer", "true", "1"},
    {"fsdp_cpu_offload", "/recipe/offload_parameters", "false", "0"},
    {"fsdp_reshard_after_forward", "/recipe/reshard_after_forward", "true", "auto"},
    {"fsdp_reshard_after_forward", "/recipe/reshard_after_forward", "false", "never"},
    {"tensor_parallel_dim", "/recipe/tensor_parallel"},
    {"context_parallel_dim", "/recipe/context_parallel"},
};

Config start() {
  Config config;
  config.recipe = default_recipe(Framework::torchtune);
  config.recipe.optimizer_implementation = OptimizerImplementation::foreach;  // AdamW without `fused`
  config.recipe.lora.targets = "q,v";
  return config;
}

/// A folder that was downloaded by the checkpoint's name says more than the builder's.
void finish_model(SettingsReading& reading) {
  const std::string* builder = reading.find("model._component_");
  take_model(reading, "checkpointer.checkpoint_dir");
  if (builder == nullptr) return;
  const std::string name = builder->substr(builder->rfind('.') + 1);
  if (name.find("qlora_") == 0) {
    reading.apply("model._component_", "/recipe/quantization", "nf4_double");
  } else {
    reading.note("model._component_", "/recipe/lora/rank", std::to_string(reading.out().config.recipe.lora.rank));
  }
}

void finish(SettingsReading& reading) {
  finish_model(reading);
  Recipe& recipe = reading.out().config.recipe;
  if (recipe.lora.rank == 0) return;
  take_lora_targets(reading, "model.lora_attn_modules");
  if (!is_set(reading, "model.apply_lora_to_mlp")) return;
  const std::string all = recipe.lora.targets + ",gate,up,down";
  reading.apply("model.apply_lora_to_mlp", "/recipe/lora/targets", all);
}

constexpr SettingsFormat format = {
    "torchtune", "torchtune YAML", "config.yaml", rules,  static_cast<int>(std::size(rules)), false, start,
    finish,      nullptr,          read_yaml,     nullptr};

}  // namespace

const SettingsFormat& torchtune_format() { return format; }

}  // namespace trainmem
