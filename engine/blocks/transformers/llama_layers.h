// The two halves of a block of Llama's kind: attention with its variants, and the MLP.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/blocks/transformers/differential_attention.h"
#include "engine/blocks/transformers/llama_form.h"
#include "engine/blocks/transformers/xielu.h"

namespace trainmem::transformers {

/// Whether layer `index` attends to a window only.
bool slides(const Model& model, std::int64_t index);

/// Attention of a block: ordinary or latent.
class AttentionPart {
 public:
  virtual ~AttentionPart() = default;
  /// `weights` receives eager attention's weights, which the block holds until it returns.
  virtual Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const = 0;
};

/// The second half of a block: an MLP or experts.
class FeedForwardPart {
 public:
  virtual ~FeedForwardPart() = default;
  virtual Tensor operator()(const Tensor& x) const = 0;
  /// The same; what the block's forward has a variable for stays in `held`.
  virtual Tensor run(const Tensor& x, Tensor& /*held*/) const { return (*this)(x); }
};

std::unique_ptr<AttentionPart> make_attention(const Model& model, const LlamaForm& form, DType dtype,
                                              std::int64_t layer);
std::unique_ptr<FeedForwardPart> make_feed_forward(const Model& model, const LlamaForm& form, DType dtype,
                                                   std::int64_t layer);

/// Whether make_feed_forward knows the experts of the model's type.
bool has_experts_forward(const Model& model, const LlamaForm& form);

class SelfAttention : public AttentionPart {
 public:
  SelfAttention(const Model& model, const LlamaForm& form, DType dtype, std::int64_t layer);
  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const override;

 private:
  struct QueryKeyValue {
    Tensor q, k, v;   ///< (b, heads, s, d)
    Tensor together;  ///< Phi-3: what they are parts of
    Tensor gate;      ///< of the output
  };
  QueryKeyValue project(const Tensor& hidden) const;
  QueryKeyValue project_together(const Tensor& hidden) const;
  /// `locals`: parts that stay local variables of the forward.
  void turn(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin, Locals& locals) const;

  void clip(Tensor& query, Tensor& key, Tensor& value) const;

  /// What attention gives, times one number for each head.
  Tensor gated_heads(Tensor out, const Tensor& hidden) const;

  const Model& model_;
  const LlamaForm& form_;
  bool slides_;
  bool turns_;  ///< has RoPE
  Size heads_, key_value_heads_;
  Size value_width_;  ///< of a head
  Linear query_, key_, value_, together_, output_, gate_;
  NormLayer query_norm_, key_norm_, output_norm_;
  std::vector<NormLayer> query_head_norms_, key_head_norms_;  ///< StableLM: of each head
  Tensor sinks_;
  std::unique_ptr<DifferentialAttention> differential_;
};

class FeedForward : public FeedForwardPart {
 public:
  /// `width`: of the layer between; 0: the model's intermediate_size.
  FeedForward(const Model& model, const LlamaForm& form, DType dtype, Size width = 0);
  Tensor operator()(const Tensor& x) const override;

 private:
  Tensor products(const Tensor& x) const;

  const Model& model_;
  bool fused_;  ///< gate and up in one linear layer
  bool inner_dropout_;
  bool clamps_;
  Size width_;
  Linear gate_, up_, gate_up_, down_;
  NormLayer down_norm_;
  std::optional<Xielu> xielu_;
};

/// Queries (b, heads, s, d) times a number of each position.
Tensor scaled_by_position(Tensor query);

/// The norm of a block of Llama's kind.
NormLayer llama_norm_layer(const Model& model, const LlamaForm& form, DType dtype);

/// Runs a norm at a named place.
Tensor norm_at(const char* place, const NormLayer& norm, Tensor x);

}  // namespace trainmem::transformers
