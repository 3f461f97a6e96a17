#include "engine/blocks/torchtitan/experts.h"

#include "engine/blocks/torchtitan/token_dispatcher.h"
#include "engine/parameters/parameters.h"
#include "engine/tensor/run.h"
#include "engine/tensor/selective.h"

namespace trainmem::torchtitan {

namespace {

constexpr Rule offsets_rule{"cumsum", "", "torchtitan models/common/moe.py: GroupedExperts.forward"};
constexpr Rule buffer_rule{"buffer", "a buffer of the model", "torchtitan models/common/moe.py: MoE.__init__"};
constexpr Rule map_rule{"routing map", "", "torchtitan models/common/moe.py: MoE.forward"};

Tensor make_buffer(std::int64_t experts, const char* role) {
  const Set<Component> weights(active_run().component, Component::weights);
  Tensor buffer = allocate({experts}, DType::float32, {&buffer_rule, role});
  note_kept(buffer, buffer_rule);
  return buffer;
}

}  // namespace

FeedForward::FeedForward(Size hidden, Size width, DType dtype)
    : gate_(hidden, width, false, dtype, "gate"),
      down_(width, hidden, false, dtype, "down"),
      up_(hidden, width, false, dtype, "up") {}

Tensor FeedForward::operator()(const Tensor& x) const {
  Tensor gate = silu(gate_(x));
  return down_(std::move(gate) * up_(x));
}

Experts::Experts(const Model& m, DType dtype) : model_(m) {
  const Size h = m.hidden_size;
  const Size i = m.experts.moe_intermediate_size;
  {
    Run& run = active_run();
    const Set<bool> experts(run.new_parameters.experts, true);
    const Size n = m.experts.num_experts / run.settings.expert_parallel.size;
    gate_ = make_parameter({n, i, h}, dtype, "expert gate");
    down_ = make_parameter({n, h, i}, dtype, "expert down");
    up_ = make_parameter({n, i, h}, dtype, "expert up");
  }
  router_ = make_parameter({m.experts.num_experts, h}, dtype, "router");
  balance_ = make_buffer(m.experts.num_experts, "correction of the balance");
  tokens_ = make_buffer(m.experts.num_experts, "tokens of each expert");
  if (m.experts.n_shared_experts > 0) shared_.emplace(h, Size(shared_expert_width(m)), dtype);
}

void Experts::note_router() const {
  if (SelectiveResults* selective = active_run().recomputing.selective) selective->router = router_.shape();
}

/// TokenChoiceTopKRouter: the gate in fp32; DeepSeek-V3 scores by sigmoid, DeepSeek-V2 and Qwen 3 by softmax;
/// DeepSeek-V3 and Qwen 3 normalise what is chosen (route_norm). The correction is added to choose, not to weigh.
Experts::Routing Experts::route(const Tensor& tokens) const {
  const Place place("router");
  const bool sigmoids = model_.experts.router_bias;
  Routing routing;
  {
    const Tensor weight = to(router_, DType::float32, "router weight in fp32");
    Tensor logits = linear(to(tokens, DType::float32, "tokens in fp32"), weight, {}, "router logits");
    routing.scores = sigmoids ? sigmoid(std::move(logits)) : softmax(std::move(logits));
  }
  const Tensor corrected = detach(routing.scores) + balance_;
  const Chosen chosen = top_k(corrected, model_.experts.num_experts_per_tok);
  routing.experts = chosen.indices;
  Tensor weights = gather(routing.scores, routing.experts);
  if (sigmoids || model_.model_type == "qwen3_moe") {
    const Tensor total = add_number(sum(weights, 1, true));
    weights = divide(std::move(weights), total);
  }
  routing.weights = multiply_number(std::move(weights));
  return routing;
}

// RoutedExperts.forward: dispatch, GroupedExperts, combine.
Tensor Experts::routed(const Tensor& tokens, const Routing& routing, const Tensor& counts) const {
  const Place place("experts");
  const Dispatched dispatched = dispatch(tokens, routing.weights, routing.experts, counts);
  const Tensor& input = dispatched.input;
  const Tensor offsets = allocate({gate_.size(0)}, DType::int32, {&offsets_rule, "where each expert's tokens end"});
  Tensor out;
  {
    Tensor inner = silu(grouped_linear(input, gate_, offsets, false, "expert gate"));
    Tensor up = grouped_linear(input, up_, offsets, false, "expert up");
    inner = inner * std::move(up);
    out = grouped_linear(std::move(inner), down_, offsets, false, "expert down");
  }
  return combine(out, dispatched, tokens);
}

Tensor Experts::operator()(const Tensor& x) const {
  const Tensor tokens = view(x, {x.elements() / x.size(-1), x.size(-1)});
  const Routing routing = route(tokens);
  const Tensor map = allocate(routing.scores.shape(), DType::boolean, {&map_rule, "map of tokens to experts"});
  const Tensor counts = allocate({routing.scores.size(1)}, DType::int64, {&map_rule});
  Tensor out = routed(tokens, routing, counts);
  if (shared_) {
    const Place place("shared expert");
    Tensor shared = (*shared_)(tokens);
    out = std::move(out) + std::move(shared);
  }
  return view(std::move(out), x.shape());
}

}  // namespace trainmem::torchtitan
