// Experts of Gemma 4 beside the MLP of their layer. The router reads what comes before the norm of the MLP, the experts
// the same after a norm of their own.
#include "engine/blocks/transformers/experts.h"
#include "engine/blocks/transformers/gemma4.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

/// models/gemma4/modeling_gemma4.py: Gemma4TextRouter.
class Gemma4Router {
 public:
  Gemma4Router(const Model& m, const LlamaForm& form, DType dtype)
      : model_(m),
        norm_(form.norm, {m.hidden_size}, false, false, dtype),
        scale_(make_parameter({m.hidden_size}, dtype, "router scale")),
        expert_scale_(make_parameter({m.experts.num_experts}, dtype, "expert scale")),
        projection_(m.hidden_size, m.experts.num_experts, false, dtype, "router projection") {}

  /// The logits of the result are its probabilities.
  Routing operator()(const Tensor& tokens) const {
    const Place place("router");
    Routing routing;
    Tensor hidden = norm_(tokens);
    hidden = multiply_number(hidden * scale_);
    const Tensor scores = projection_(hidden);
    routing.logits = softmax(scores, DType::float32);
    const Chosen chosen = top_k(routing.logits, model_.experts.num_experts_per_tok);
    routing.experts = chosen.indices;
    routing.weights = chosen.values;
    routing.weights = divide_in_place(routing.weights, sum(routing.weights, 1, true));
    const Shape pairs = routing.experts.shape();
    const Tensor of_experts = index_rows(expert_scale_, view(routing.experts, {pairs.elements()}));
    routing.weights = routing.weights * view(of_experts, pairs);
    return routing;
  }

 private:
  const Model& model_;
  NormLayer norm_;
  Tensor scale_, expert_scale_;
  Linear projection_;
};

}  // namespace

struct Gemma4Experts::Parts {
  Gemma4Router router;
  RoutedExperts experts;
  NormLayer after_mlp, after_experts, before_experts;  ///< in the order of their registration
  Parts(const Model& m, const LlamaForm& form, DType dtype)
      : router(m, form, dtype),
        experts(m, dtype),
        after_mlp(llama_norm_layer(m, form, dtype)),
        after_experts(llama_norm_layer(m, form, dtype)),
        before_experts(llama_norm_layer(m, form, dtype)) {}
};

Gemma4Experts::Gemma4Experts(const Model& m, const LlamaForm& form, DType dtype)
    : parts_(std::make_unique<Parts>(m, form, dtype)) {}
Gemma4Experts::~Gemma4Experts() = default;

Tensor Gemma4Experts::operator()(const Tensor& of_mlp, const Tensor& residual, Tensor& returned, Locals& locals) const {
  Tensor first = norm_at("norm after MLP", parts_->after_mlp, of_mlp);
  const Tensor tokens = reshape(residual, {residual.elements() / residual.size(-1), residual.size(-1)});
  const Routing routing = parts_->router(tokens);
  returned = routing.logits;
  Tensor second = norm_at("norm before experts", parts_->before_experts, tokens);
  second = parts_->experts(second, routing);
  second = reshape(std::move(second), residual.shape());
  second = norm_at("norm after experts", parts_->after_experts, second);
  locals = {first, tokens, routing.weights, routing.experts, second};
  return first + second;
}

}  // namespace trainmem::transformers
