// The indexer of DeepSeek's sparse attention as transformers writes it: narrow heads of its own score every key,
// without a gradient, and the mask of attention leaves the best ones.
#pragma once

#include "engine/blocks/transformers/llama_layers.h"
#include "engine/parameters/indexer.h"

namespace trainmem::transformers {

class KeyIndexer {
 public:
  KeyIndexer(const Model& model, DType dtype);
  /// Keys that each query attends to, (b, s, keys) of int32. `latent`: the queries' normalised down-projection.
  Tensor operator()(const Tensor& hidden, const Tensor& latent, const BlockInputs& inputs) const;

 private:
  const Model& model_;
  Indexer sizes_;
  Linear query_, key_, weights_;
  NormLayer key_norm_;
};

/// What of the mask outlives the choice, up to the end of attention.
struct SparseMask {
  Tensor positions;
  Tensor masked;
  Tensor mask;
};

/// Attention's mask, (b, 1, s, s): of all keys but the chosen ones.
SparseMask sparse_mask(const Tensor& chosen, const Tensor& hidden, const BlockInputs& inputs);

}  // namespace trainmem::transformers
