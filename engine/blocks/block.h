// One layer of a model, and what it is given: every family's file has a Block with the forward of its framework,
// written in the operations of ops.h and the scopes of run.h.
#pragma once

#include <memory>
#include <utility>

#include "engine/config.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

/// Keys and values of a forward that later layers of the same kind attend to as well.
struct SharedKeys {
  struct Pair {
    Tensor key, value;
  };
  Pair full, sliding;  ///< of layers without a window, and with one
};

/// What every block of one forward is given beside the hidden states.
struct BlockInputs {
  AttentionKernel attention = AttentionKernel::sdpa;
  Tensor cos;  ///< rotary tables; undefined without RoPE
  Tensor sin;
  Tensor mask;  ///< undefined: causal without a mask
  Tensor alibi;
  bool repeated_heads = false;  ///< key and value are repeated for every query head, whatever the kernel can do
  Tensor positions;             ///< unused by the blocks, but an argument that recomputation keeps
  Tensor layer_embedding;       ///< of this layer's own, where the layers have some
  std::shared_ptr<SharedKeys> shared_keys;
  Tensor embedded;       ///< the embeddings as they were, where layers read these, too
  Tensor of_last_block;  ///< what it returned beside its result, where the next one is given that
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
