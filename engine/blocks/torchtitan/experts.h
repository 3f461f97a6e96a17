// Mixture of experts as torchtitan writes it: models/common/moe.py.
#pragma once

#include <optional>

#include "engine/blocks/transformers/parts.h"

namespace trainmem::torchtitan {

/// w2(silu(w1(x)) * w3(x)).
class FeedForward {
 public:
  FeedForward(Size hidden, Size width, DType dtype);
  Tensor operator()(const Tensor& x) const;

 private:
  Linear gate_, down_, up_;
};

/// MoE: router, three stacks of expert weights, shared experts.
class Experts {
 public:
  Experts(const Model& model, DType dtype);
  Tensor operator()(const Tensor& x) const;
  /// Said before the block's first product: under recomputation by operations the router's product is done again.
  void note_router() const;

 private:
  struct Routing {
    Tensor experts;  ///< (tokens, experts per token)
    Tensor weights;
    Tensor scores;  ///< held until the layer returns
  };
  Routing route(const Tensor& tokens) const;
  Tensor routed(const Tensor& tokens, const Routing& routing, const Tensor& counts) const;

  const Model& model_;
  Tensor gate_, down_, up_;
  Tensor router_;
  Tensor balance_, tokens_;  ///< buffers
  std::optional<FeedForward> shared_;
};

}  // namespace trainmem::torchtitan
