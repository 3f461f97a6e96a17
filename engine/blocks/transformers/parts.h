// Parts that transformers' families share: norms, masks, attention functions, activations.
#pragma once

#include "engine/blocks/transformers/adapter.h"
#include "engine/blocks/transformers/model.h"
#include "engine/blocks/transformers/rotary.h"
#include "engine/parallel/tensor.h"

namespace trainmem::transformers {

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
  Tensor operator()(Tensor x) const;
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

/// The norm of a model: layer norm in one kernel, or RMSNorm written out as the families write it.
struct NormLayer {
  enum class Form {
    layer_norm,
    llama,
    gemma,
    olmo,
    olmo2,
    cohere,
    nemotron,
    helium,
    nanochat,
    fused,
    liger_in_place,
    liger,
    torchtitan,
    torchtune
  } form = Form::llama;
  Tensor weight;
  Tensor bias;
  NormLayer() = default;
  NormLayer(Form form, Shape shape, bool with_weight, bool with_bias, DType dtype);
  Tensor operator()(Tensor x) const;
  /// The same, at a named place of the model: "norm before attention".
  Tensor at(const char* place, Tensor x) const;
};

/// Logits: of the whole vocabulary, or of a part that the loss takes.
Tensor language_head(const Linear& head, Tensor hidden);

/// Embeddings of the tokens. Nothing before the first LoRA adapter wants a gradient, but recomputed blocks need one to
/// begin from: then the embeddings are made to want one.
Tensor input_embeddings(const Tensor& table, const Tensor& ids);

/// Positions 0 to s - 1 as the models make them.
Tensor position_ids(Size sequence);

/// The causal mask that transformers makes, or none where SDPA does without one.
Tensor causal_mask(Size batch, Size sequence, DType dtype, AttentionKernel attention, bool sliding);

/// Attention over (b, heads, s, d): eager or SDPA, as the recipe says. Result (b, s, a, d), contiguous.
struct AttentionOptions {
  double dropout = 0.0;
  double softcapping = 0.0;
  std::int64_t window = 0;      ///< keys that a query of this layer sees; 0: all
  bool repeated_heads = false;  ///< key and value are repeated for every query head, whatever the kernel can do
};
Tensor attention(Tensor q, Tensor k, Tensor v, const Tensor& mask, AttentionKernel kernel,
                 const AttentionOptions& options, Tensor& weights);

/// The same, eager, with learned scores of each head beside those of the tokens.
Tensor sink_attention(const Tensor& q, Tensor k, Tensor v, const Tensor& mask, const Tensor& sinks, double dropout,
                      Tensor& weights);

/// Each key/value head as often as query heads share it.
Tensor repeat_kv(const Tensor& x, Size times);

/// The activation of a model, in the form in which transformers runs it.
Tensor activate(Tensor x, Activation activation);

/// residual + dropout(x), as BLOOM and Falcon name it: dropout_add of modeling_bloom.py and modeling_falcon.py.
Tensor dropout_add(const Tensor& x, const Tensor& residual, double probability);

/// (b, s, a * d) seen as (b, a, s, d).
Tensor split_heads(Tensor x, Size heads, Size width);

}  // namespace trainmem::transformers
