// The two halves of a block of Llama's kind: attention with its variants, and the MLP.
#pragma once

#include "engine/blocks/transformers/llama_form.h"

namespace trainmem::transformers {

/// Whether layer `index` attends to a window only.
bool slides(const Model& model, std::int64_t index);

class SelfAttention {
 public:
  SelfAttention(const Model& model, const LlamaForm& form, DType dtype, std::int64_t layer);
  /// `weights` receives eager attention's weights, which the block holds until it returns.
  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const;

 private:
  struct QueryKeyValue {
    Tensor q, k, v;   ///< (b, heads, s, d)
    Tensor together;  ///< Phi-3: what they are parts of
  };
  QueryKeyValue project(const Tensor& hidden) const;
  QueryKeyValue project_together(const Tensor& hidden) const;
  void turn(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) const;

  const Model& model_;
  const LlamaForm& form_;
  bool slides_;
  bool turns_;  ///< has RoPE
  Linear query_, key_, value_, together_, output_;
  NormLayer query_norm_, key_norm_;
};

class FeedForward {
 public:
  FeedForward(const Model& model, const LlamaForm& form, DType dtype);
  Tensor operator()(const Tensor& x) const;

 private:
  const Model& model_;
  bool fused_;  ///< gate and up in one linear layer
  Linear gate_, up_, gate_up_, down_;
};

/// The norm of a block of Llama's kind.
NormLayer llama_norm_layer(const Model& model, const LlamaForm& form, DType dtype);

/// Runs a norm at a named place.
Tensor norm_at(const char* place, const NormLayer& norm, Tensor x);

}  // namespace trainmem::transformers
