// Linear attention of Qwen3-Next and Qwen3.5: a gated delta network.
#pragma once

#include "engine/blocks/transformers/llama_layers.h"

namespace trainmem::transformers {

class GatedDeltaNet : public AttentionPart {
 public:
  GatedDeltaNet(const Model& model, DType dtype);
  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const override;

 private:
  struct Projected {
    Tensor mixed;     ///< query, key and value, (b, s, channels)
    Tensor gate;      ///< of the output, (b, s, value heads, value width)
    Tensor rate;      ///< of what is written into the state, (b, s, value heads)
    Tensor decay;     ///< of the state, (b, s, value heads)
    Tensor held[2];   ///< local variables of the forward
    Tensor parts[3];  ///< query, key and value: local variables, named again after the convolution
  };
  Projected project(const Tensor& hidden) const;
  Projected project_together(const Tensor& hidden) const;

  const Model& model_;
  bool together_;  ///< Qwen3-Next: two projections, whose outputs are ordered by key head
  Tensor decay_bias_, decay_scale_, convolution_, norm_;
  Linear query_key_value_, gate_, rate_, decay_, output_;
};

/// The convolution over a few tokens, and the delta rule: kernels, or PyTorch's operations.
Tensor mixed_with_neighbours(Tensor x, const Tensor& weight);
Tensor gated_delta_rule(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& decay,
                        const Tensor& rate);

/// x.repeat_interleave(times, dim=2) of (b, s, heads, width).
Tensor repeated_heads(Tensor x, const Size& times);

/// Classes whose linear attention this is, or that of olmo_hybrid.cpp.
bool has_gated_delta_net(const Model& model);

}  // namespace trainmem::transformers
