// What Gemma 4's layers have that others have not: attention whose heads differ from layer to layer and whose keys and
// values later layers share, experts beside the MLP, embeddings of each layer.
#pragma once

#include "engine/blocks/transformers/llama_layers.h"
#include "engine/config/layer_types.h"

namespace trainmem::transformers {

/// models/gemma4/modeling_gemma4.py: Gemma4TextAttention.
class Gemma4Attention : public AttentionPart {
 public:
  Gemma4Attention(const Model& model, const LlamaForm& form, DType dtype, std::int64_t layer);
  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const override;

 private:
  SharedKeys::Pair keys_and_values(const Tensor& hidden, const BlockInputs& inputs) const;
  SharedKeys::Pair& shared(const BlockInputs& inputs) const;

  const Model& model_;
  LayerType type_;
  bool shares_;  ///< takes keys and values of an earlier layer
  bool stores_;  ///< is the last of its kind that has some of its own
  Size head_dim_;
  Linear query_, key_, value_, output_;
  NormLayer query_norm_, key_norm_, value_norm_;
};

/// Experts beside a layer's MLP: Gemma4TextRouter, Gemma4TextExperts, and the norms around them.
class Gemma4Experts {
 public:
  Gemma4Experts(const Model& model, const LlamaForm& form, DType dtype);
  ~Gemma4Experts();
  /// What they and the MLP give together: `residual` is what came before the norm of the MLP. `returned` is what
  /// attention returned beside its result, and goes for what the router returned. `locals`: of the block's forward.
  Tensor operator()(const Tensor& of_mlp, const Tensor& residual, Tensor& returned, Locals& locals) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The embeddings of all layers at once: Gemma4TextModel.get_per_layer_inputs, project_per_layer_inputs.
class LayerEmbeddings {
 public:
  LayerEmbeddings(const Model& model, const LlamaForm& form, DType dtype);
  /// (b, s, layers, width).
  Tensor operator()(const Tensor& ids, const Tensor& embedded) const;

 private:
  const Model& model_;
  Tensor table_;
  Tensor scale_;
  Tensor projection_scale_, sum_scale_;  ///< buffers of Gemma 3n; undefined: numbers
  Linear projection_;
  NormLayer norm_;
};

/// What a layer adds of its own embedding: per_layer_input_gate, per_layer_projection and the norm behind them.
class LayerEmbeddingInput {
 public:
  LayerEmbeddingInput(const Model& model, const LlamaForm& form, DType dtype);
  Tensor operator()(Tensor hidden, const Tensor& embedding) const;

 private:
  Activation activation_;
  Linear gate_, projection_;
  NormLayer norm_;
};

}  // namespace trainmem::transformers
