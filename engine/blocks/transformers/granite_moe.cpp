// Experts of Granite 3 and 4: grouped products over the experts with the largest logits, and in some an MLP beside
// them: models/granitemoe, granitemoeshared and granitemoehybrid, modeling_*.py.
#include "engine/blocks/transformers/granite_moe.h"

#include <optional>

#include "engine/blocks/transformers/experts.h"
#include "engine/parameters/parameters.h"

namespace trainmem::transformers {

namespace {

class GraniteMoe : public FeedForwardPart {
 public:
  GraniteMoe(const Model& m, const LlamaForm& form, DType dtype)
      : model_(m),
        router_(make_parameter({m.experts.num_experts, m.hidden_size}, dtype, "router")),
        experts_(m, dtype) {
    if (m.experts.n_shared_experts > 0) shared_.emplace(m, form, dtype, Size(shared_expert_width(m)));
  }

  Tensor operator()(const Tensor& x) const override {
    Tensor held;
    return run(x, held);
  }

  // models/granitemoeshared/modeling_granitemoeshared.py: GraniteMoeSharedDecoderLayer, moe_hidden_states.
  Tensor run(const Tensor& x, Tensor& held) const override {
    held = routed(x);
    if (!shared_) return std::move(held);
    const Place place("shared expert");
    Tensor shared = (*shared_)(x);
    return held + std::move(shared);
  }

 private:
  /// models/granitemoe/modeling_granitemoe.py: GraniteMoeTopKRouter.
  Routing route(const Tensor& tokens) const {
    const Place place("router");
    Routing routing;
    routing.logits = to(linear(tokens, router_, {}, "router logits"), DType::float32);
    const Chosen chosen = top_k(routing.logits, model_.experts.num_experts_per_tok);
    routing.weights = to(softmax(chosen.values), tokens.dtype());
    routing.experts = chosen.indices;
    return routing;
  }

  Tensor routed(const Tensor& x) const {
    const Tensor tokens = reshape(x, {x.size(0) * x.size(1), x.size(2)});
    const Routing routing = route(tokens);
    return view(experts_(tokens, routing), x.shape());
  }

  const Model& model_;
  Tensor router_;
  RoutedExperts experts_;
  std::optional<FeedForward> shared_;
};

}  // namespace

std::unique_ptr<FeedForwardPart> make_granite_moe(const Model& m, const LlamaForm& form, DType dtype) {
  return std::make_unique<GraniteMoe>(m, form, dtype);
}

}  // namespace trainmem::transformers
