// Parts that transformers' families share: masks, attention functions, activations.
#pragma once

#include "engine/blocks/architecture.h"
#include "engine/blocks/linear_layer.h"
#include "engine/blocks/norm_layer.h"
#include "engine/blocks/transformers/rotary.h"

namespace trainmem::transformers {

/// Positions 0 to s - 1 as the models make them.
Tensor position_ids(Size sequence);

/// The causal mask that transformers makes, or none where SDPA does without one; for flash_attention_2 that of tokens,
/// where some are padding.
Tensor causal_mask(Size batch, Size sequence, DType dtype, AttentionKernel attention, bool sliding);

/// Whether layers with a window are given a mask: masking_utils.py, _ignore_causal_mask_sdpa.
bool needs_sliding_mask(const Model& model, Size sequence, AttentionKernel attention);

/// Attention over (b, heads, s, d): eager or SDPA, as the recipe says. Result (b, s, a, d), contiguous.
struct AttentionOptions {
  double dropout = 0.0;
  double softcapping = 0.0;
  std::int64_t window = 0;      ///< keys that a query of this layer sees; 0: all
  bool plain_softmax = false;   ///< eager: not asked for fp32, in the scores' format then
  bool repeated_heads = false;  ///< key and value are repeated for every query head, whatever the kernel can do
};
Tensor attention(Tensor q, Tensor k, Tensor v, const Tensor& mask, AttentionKernel kernel,
                 const AttentionOptions& options, Tensor& weights);

/// How a learned score of each head takes part in the softmax.
enum class Sinks {
  column,         ///< beside those of the tokens
  joined_column,  ///< the same, and no other name holds the scores without it; layers may have none
  scale           ///< the output is scaled as if they had
};

/// attention(), eager, in models with such scores; `sinks` may be undefined.
Tensor sink_attention(const Tensor& q, Tensor k, Tensor v, const Tensor& mask, const Tensor& sinks, double dropout,
                      Sinks form, Tensor& weights);

/// Each key/value head as often as query heads share it.
Tensor repeat_kv(const Tensor& x, Size times);

/// The activation of a model, in the form in which transformers runs it.
Tensor activate(Tensor x, Activation activation);

/// residual + dropout(x), as BLOOM and Falcon name it: dropout_add of modeling_bloom.py and modeling_falcon.py.
Tensor dropout_add(const Tensor& x, const Tensor& residual, double probability);

/// (b, s, a * d) seen as (b, a, s, d).
Tensor split_heads(Tensor x, Size heads, Size width);

}  // namespace trainmem::transformers
