// Which attention kernel a layer of Megatron-Core runs.
//
// Megatron's own layers compute scores, softmax and products one after another. Transformer Engine does so when it is
// told to (--attention-backend unfused), and else takes a fused kernel: cuDNN's from Hopper on, the flash-attn package
// before, and on Blackwell where results must repeat and dropout is on, which cuDNN does not do.
// Source: NVIDIA/TransformerEngine d0067d0, transformer_engine/pytorch/attention/dot_product_attention/utils.py
// (get_attention_backend) and transformer_engine/common/fused_attn/fused_attn.cpp (nvte_get_fused_attn_backend).
#pragma once

#include "engine/config.h"

namespace trainmem::megatron {

enum class AttentionBackend { local, unfused, cudnn, flash_attn };

AttentionBackend attention_backend(const Config& config);

}  // namespace trainmem::megatron
