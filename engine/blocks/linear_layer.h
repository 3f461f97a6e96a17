// Linear layers of a model: whole, split by tensor parallelism, in 4 bits, with an adapter beside them.
#pragma once

#include "engine/blocks/adapter.h"
#include "engine/parallel/tensor.h"
#include "engine/tensor/ops.h"

namespace trainmem {

/// A linear layer; `role` names its output.
struct Linear {
  Tensor weight;
  Tensor bias;
  const char* role = nullptr;
  WeightSplit split = WeightSplit::none;
  Linear() = default;
  Linear(Size in, Size out, bool with_bias, DType dtype, const char* name);
  Adapter adapter;
  QuantizedWeight quantized;  ///< in place of weight
  DType computation = DType::bfloat16;
  bool rounds = false;  ///< weight and input are rounded in every forward: BitNet
  Tensor operator()(Tensor x) const;

 private:
  Tensor plain(Tensor x) const;
};

/// GPT-2's Conv1D: a linear layer with a transposed weight.
struct Conv1D {
  Tensor weight;
  Tensor bias;
  const char* role = nullptr;
  Conv1D(Size in, Size out, DType dtype, const char* name);
  Adapter adapter;
  Linear quantized;  ///< a 4-bit layer stands in the place of this one
  Tensor operator()(Tensor x) const;
};

/// Logits: of the whole vocabulary, or of a part that the loss takes.
Tensor language_head(const Linear& head, Tensor hidden);

}  // namespace trainmem
