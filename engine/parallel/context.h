// Context parallelism of plain PyTorch and torchtitan: GPUs share a sequence, and attention goes round among them.
//
// Each GPU holds one early and one late piece of the sequence. Keys and values are gathered once (torchtitan's
// default) or sent on from GPU to GPU; the outputs of the steps are merged in fp32.
// Source: pytorch torch/distributed/tensor/experimental/_attention.py (_templated_ring_attention).
#pragma once

#include <cstdint>

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// Flash attention of (b, a, s, d) tensors with this GPU's s positions of a sequence that `gpus` GPUs share.
Tensor ring_attention(Tensor q, Tensor k, Tensor v, std::int64_t gpus, ContextParallelMethod method);

}  // namespace trainmem
