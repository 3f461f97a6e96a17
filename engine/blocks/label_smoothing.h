// The loss of transformers' Trainer with label_smoothing_factor, computed outside the model: trainer_pt_utils.py,
// LabelSmoother.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

/// logits (b, s, vocabulary), labels (b, s); the result is one number.
Tensor label_smoothing_loss(const Tensor& logits, const Tensor& labels);

}  // namespace trainmem
