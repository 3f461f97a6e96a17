// Mixture of experts as transformers writes it: a router, grouped matrix products over the chosen experts, and experts
// that all tokens share.
#pragma once

#include <memory>
#include <optional>

#include "engine/blocks/transformers/expert_adapter.h"
#include "engine/blocks/transformers/llama_layers.h"

namespace trainmem::transformers {

/// Which experts a token goes to, and with what weight: (tokens, experts per token) both.
struct Routing {
  Tensor experts;
  Tensor weights;
  Tensor logits;  ///< returned by the router, and held by the block until it returns
};

/// Whether the router of the model's type is known.
bool has_router(const Model& model);

class Router {
 public:
  Router(const Model& model, DType dtype);
  Routing operator()(const Tensor& tokens) const;

 private:
  Routing route(const Tensor& tokens) const;
  Routing softmax_scores(const Tensor& tokens) const;
  Routing softmax_in_fp32(const Tensor& tokens) const;
  Routing softmax_in_groups(const Tensor& tokens) const;
  Routing sigmoid_scores(const Tensor& tokens) const;
  Routing softmax_of_chosen(const Tensor& tokens) const;
  Routing sigmoid_of_chosen(const Tensor& tokens) const;
  Routing corrected_softmax(const Tensor& tokens) const;
  Routing corrected_low_sigmoid(const Tensor& tokens) const;
  Routing corrected_sigmoid(const Tensor& tokens) const;

  const Model& model_;
  Tensor weight_;
  ExpertAdapter adapter_;
  Adapter beside_;     ///< Hunyuan's and Jamba's, whose router is a linear layer
  Tensor bias_;        ///< gpt-oss's, which is trained
  Tensor correction_;  ///< DeepSeek-V3's, ERNIE's and LFM2's, a buffer that balances the load
};

/// The routed experts of a layer: two stacks of matrices, the first of gate and up, or of up alone.
class RoutedExperts {
 public:
  RoutedExperts(const Model& model, DType dtype);
  Tensor operator()(const Tensor& tokens, const Routing& routing) const;

 private:
  /// Of what the first matrices give.
  Tensor activated(const Tensor& first) const;
  /// One expert after another, in classes that have no other way.
  Tensor in_turn(const Tensor& tokens, const Routing& routing) const;

  const Model& model_;
  bool turned_;           ///< stacks of (experts, in, out)
  bool clamps_;           ///< both factors of the gated product have a limit
  bool masks_sentinels_;  ///< as in transformers 5.16; recorded steps of 5.3 and 5.23 have no such mask
  Tensor gate_up_, down_;
  Tensor gate_up_bias_, down_bias_;
  ExpertAdapter gate_up_adapter_, down_adapter_;
};

class SeparateExperts;

/// What stands in place of the MLP in a layer with experts.
class SparseFeedForward : public FeedForwardPart {
 public:
  SparseFeedForward(const Model& model, const LlamaForm& form, DType dtype);
  ~SparseFeedForward() override;
  Tensor operator()(const Tensor& x) const override;

 private:
  const LlamaForm& form_;
  bool jitters_;
  std::optional<Router> router_;
  std::optional<RoutedExperts> experts_;
  std::unique_ptr<SeparateExperts> separate_;  ///< in place of experts_ before release 5
  std::optional<FeedForward> shared_;
  std::optional<Linear> shared_gate_;
  std::optional<NormLayer> norm_;                      ///< A.X K1: of the sum of both
  std::optional<Linear> into_latent_, out_of_latent_;  ///< around the routed experts
};

}  // namespace trainmem::transformers
