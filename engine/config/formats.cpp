#include "engine/config/formats.h"

namespace trainmem {

Formats formats(const Recipe& recipe) {
  Formats result;
  switch (recipe.precision) {
    case Precision::fp32: result.weights = DType::float32; break;
    case Precision::bf16:
    case Precision::bf16_mixed: result.weights = DType::bfloat16; break;
    case Precision::fp16:
    case Precision::fp16_mixed: result.weights = DType::float16; break;
    case Precision::bf16_autocast:
      result.weights = DType::float32;
      result.autocast = DType::bfloat16;
      break;
    case Precision::fp16_autocast:
      result.weights = DType::float32;
      result.autocast = DType::float16;
      break;
    case Precision::fsdp_bf16:
      // accelerate upcasts what is trained: FSDP1 leaves frozen weights in 16 bits (accelerator.py: prepare_model),
      // FSDP2 takes the whole model (utils/fsdp_utils.py: fsdp2_prepare_model).
      result.weights = recipe.lora.rank > 0 && recipe.fsdp_version == 1 ? DType::bfloat16 : DType::float32;
      result.computation = DType::bfloat16;
      break;
    case Precision::fp8:  // FSDP's mixed precision, and products in fp8 (tensor/float8.h)
      result.weights = DType::float32;
      result.computation = DType::bfloat16;
      break;
  }
  if (recipe.weights_dtype != DType::automatic) result.weights = recipe.weights_dtype;
  if (result.computation == DType::automatic) result.computation = result.weights;
  if (recipe.activations_dtype != DType::automatic) result.computation = recipe.activations_dtype;
  // Beside FSDP's mixed precision accelerate runs the model under autocast, too: accelerator.py, prepare_model,
  // native_amp. Layer norms are fp32 there.
  if (recipe.precision == Precision::fsdp_bf16 && recipe.framework == Framework::transformers)
    result.autocast = result.computation;
  result.optimizer_states = recipe.optimizer_state_dtype;
  return result;
}

}  // namespace trainmem
