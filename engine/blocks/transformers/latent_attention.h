// Multi-head latent attention as transformers writes it: queries, and keys with values, pass through a narrow layer
// of their own; a part of each key carries the positions, one for all heads.
#pragma once

#include <optional>
#include <vector>

#include "engine/blocks/transformers/indexer.h"
#include "engine/blocks/transformers/llama_layers.h"

namespace trainmem::transformers {

class LatentSelfAttention : public AttentionPart {
 public:
  LatentSelfAttention(const Model& model, const LlamaForm& form, DType dtype);
  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const override;

 private:
  /// `latent` receives what the indexer reads, too.
  Tensor query(const Tensor& hidden, Tensor& latent) const;
  void turn(Tensor& query, Tensor& key, const BlockInputs& inputs) const;
  /// Key and value of the latent (b, 1, s, rank) and the part of the keys that RoPE turned (b, 1, s, width).
  std::vector<Tensor> expanded(const Tensor& latent, const Tensor& turned) const;
  Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, AttentionKernel kernel,
                Tensor& weights) const;

  const Model& model_;
  const LlamaForm& form_;
  Linear query_, query_down_, query_up_, key_value_down_, key_value_up_, output_;
  NormLayer query_norm_, key_value_norm_;
  std::optional<KeyIndexer> indexer_;
};

}  // namespace trainmem::transformers
