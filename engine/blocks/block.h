// One layer of a model, and what it is given: every family's file has a Block with the forward of its framework,
// written in the operations of ops.h and the scopes of run.h.
#pragma once

#include <utility>

#include "engine/config.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

/// What every block of one forward is given beside the hidden states.
struct BlockInputs {
  AttentionKernel attention = AttentionKernel::sdpa;
  Tensor cos;  ///< rotary tables; undefined without RoPE
  Tensor sin;
  Tensor mask;  ///< undefined: causal without a mask
  Tensor alibi;
  bool repeated_heads = false;  ///< key and value are repeated for every query head, whatever the kernel can do
  Tensor positions;             ///< unused by the blocks, but an argument that recomputation keeps
  Tensor of_last_block;         ///< what it returned beside its result, where the next one is given that
};

/// One transformer layer.
class Block {
 public:
  virtual ~Block() = default;
  virtual Tensor forward(Tensor hidden, const BlockInputs& inputs) = 0;
  /// Attention weights that forward returned beside its result; undefined in most families.
  Tensor take_weights() { return std::move(returned_weights_); }

 protected:
  Tensor returned_weights_;
};

}  // namespace trainmem
