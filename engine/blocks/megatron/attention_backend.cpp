#include "engine/blocks/megatron/attention_backend.h"

namespace trainmem::megatron {

AttentionBackend attention_backend(const Config& config) {
  const Recipe& recipe = config.recipe;
  if (!recipe.transformer_engine) return AttentionBackend::local;
  if (recipe.attention == AttentionKernel::eager) return AttentionBackend::unfused;
  if (recipe.attention == AttentionKernel::flash) return AttentionBackend::flash_attn;
  switch (config.gpu.architecture) {
    case GpuArchitecture::turing:
    case GpuArchitecture::ampere:
    case GpuArchitecture::ada: return AttentionBackend::flash_attn;
    case GpuArchitecture::blackwell:
    case GpuArchitecture::blackwell_rtx:
      return recipe.deterministic && config.model.attention_dropout > 0 ? AttentionBackend::flash_attn
                                                                        : AttentionBackend::cudnn;
    default: return AttentionBackend::cudnn;
  }
}

}  // namespace trainmem::megatron
