#include "engine/blocks/adapter_format.h"

#include "engine/config/deepspeed.h"
#include "engine/config/formats.h"

namespace trainmem {

DType adapter_format(const Recipe& recipe) {
  if (recipe.lora.adapter_dtype != DType::automatic) return recipe.lora.adapter_dtype;
  // DeepSpeed casts the whole module: deepspeed/runtime/engine.py, _configure_distributed_model. torchtune makes all in
  // one format: recipes/lora_finetune_single_device.py, _setup_model. So does litgpt: finetune/lora.py, main.
  const bool as_weights =
      uses_zero(recipe) || recipe.framework == Framework::torchtune || recipe.framework == Framework::litgpt;
  // TRL's trainers of these objectives: beside quantised weights adapters are made bf16, as QLoRA's authors had them.
  const bool of_trl = recipe.objective != Objective::next_token;
  if (of_trl && recipe.quantization != Quantization::none) return DType::bfloat16;
  // peft keeps adapters of a 16-bit model in fp32 (autocast_adapter_dtype).
  return as_weights ? formats(recipe).weights : DType::float32;
}

}  // namespace trainmem
