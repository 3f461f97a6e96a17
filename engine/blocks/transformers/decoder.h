// What most GPT-like families share at their two ends: a token embedding, a layer norm after the last block, a head.
#pragma once

#include "engine/blocks/architecture.h"
#include "engine/blocks/transformers/parts.h"
#include "engine/config/layer_types.h"

namespace trainmem::transformers {

class Decoder : public Architecture {
 public:
  using Architecture::Architecture;
  void make_embedding() override;
  void make_head() override;
  Tensor end(Tensor hidden) override;
  Tensor head(Tensor hidden) override;
  Tensor head_weight() const override { return head_.weight; }

 protected:
  void make_final_norm();
  void make_language_head();

  Tensor embedding_;
  NormLayer norm_;
  Linear head_;

 private:
  void make_score();

  Tensor frozen_score_;  ///< beside adapters: the score as it was, of which head_ is a copy
};

/// Channels of a head that RoPE turns, in layers of this kind.
Size turning_width(const Model& model, LayerType type = LayerType::full_attention);

/// The norm of a block, or the final one, as the model describes it.
NormLayer block_norm(const Model& model, DType dtype);

}  // namespace trainmem::transformers
