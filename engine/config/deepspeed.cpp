#include "engine/config/deepspeed.h"

namespace trainmem {

bool uses_zero(const Recipe& recipe) {
  const bool mixed = recipe.precision == Precision::bf16_mixed || recipe.precision == Precision::fp16_mixed;
  if (recipe.framework == Framework::deepspeed && recipe.data_parallel == DataParallel::ddp && mixed) return true;
  return recipe.framework != Framework::megatron && (recipe.data_parallel_size > 1 || mixed) &&
         (recipe.data_parallel == DataParallel::zero1 || recipe.data_parallel == DataParallel::zero2 ||
          recipe.data_parallel == DataParallel::zero3);
}

bool uses_bf16_optimizer(const Recipe& recipe) {
  if (recipe.framework != Framework::deepspeed || recipe.precision != Precision::bf16_mixed) return false;
  const bool fp32_gradients = recipe.gradients_dtype == DType::float32 && !recipe.offload_optimizer;
  return recipe.data_parallel == DataParallel::ddp || (recipe.data_parallel == DataParallel::zero1 && fp32_gradients);
}

bool uses_megatron_deepspeed(const Recipe& recipe) {
  return recipe.framework == Framework::deepspeed && (recipe.tensor_parallel > 1 || recipe.pipeline_parallel > 1);
}

}  // namespace trainmem
