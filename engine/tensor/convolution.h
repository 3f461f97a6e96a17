// Convolutions of every channel by itself along the sequence (depthwise): x (b, channels, s), weight (channels, 1,
// width).
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// torch.nn.Conv1d with as many groups as channels, padded by width - 1 on both sides.
Tensor depthwise_conv1d(Tensor x, const Tensor& weight, const Tensor& bias);

/// The kernel of causal-conv1d, with an activation or without: a tensor like x.
Tensor causal_conv1d(Tensor x, const Tensor& weight, const Tensor& bias);

}  // namespace trainmem
