// T tokens, E experts. Kept are the scores of all experts in fp32, how many tokens each expert has, and the loss.
// Megatron-Core transformer/moe: router.py (TopKRouter.aux_loss_load_balancing), moe_utils.py
// (compute_routing_scores_for_aux_loss, switch_load_balancing_loss_func, MoEAuxLossAutoScaler).
#include "engine/blocks/megatron/balancing_loss.h"

#include <utility>

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule map_rule{"routing map", "",
                        "Megatron-Core transformer/moe/moe_utils.py: compute_routing_scores_for_aux_loss"};
constexpr Rule scaler_rule{"balancing loss", "the loss: its gradient is a number of its shape",
                           "Megatron-Core transformer/moe/moe_utils.py: MoEAuxLossAutoScaler"};

/// zeros_like(logits).int().scatter(1, chosen, 1).bool().
Tensor map_of_chosen(const Tensor& scores, const Tensor& logits, const Size& top) {
  const Shape& shape = logits.shape();
  const Tensor chosen = top_k(detach(scores), top).indices;
  Tensor integers;
  {
    const Tensor zeros = allocate(shape, logits.dtype(), {&map_rule});
    integers = allocate(shape, DType::int32, {&map_rule});
  }
  integers = allocate(shape, DType::int32, {&map_rule});
  return allocate(shape, DType::boolean, {&map_rule, "routing map"});
}

Tensor attach(Tensor argument, const Tensor& loss) {
  const Tensor scores = std::move(argument);
  const Ref<Node> node = begin_node(scaler_rule, {&scores, &loss});
  keep(node, loss);
  Tensor result = alias(scores, scores.shape(), scores->strides);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      if (b.wants(1)) b.give(1, allocate(kept.shape(), kept.dtype(), {&scaler_rule}));
      if (b.wants(0)) b.give(0, b.take_gradient());
    };
  finish_node(node, result);
  return result;
}

}  // namespace

Tensor with_balancing_loss(Tensor scores, const Tensor& logits, const Experts& experts) {
  if (experts.router_auxiliary_loss == RouterAuxiliaryLoss::none || !active_run().grad_enabled) return scores;
  const Place place("balancing loss");
  Tensor all;
  if (experts.router_bias) {  // moe_router_score_function sigmoid
    all = sigmoid(logits);
    const Tensor total = add_number(sum(all, 1, true));
    all = divide(all, total);
  } else {
    all = softmax(logits, DType::float32);
  }
  const Tensor map = map_of_chosen(all, logits, experts.num_experts_per_tok);
  const Tensor tokens = allocate({experts.num_experts}, DType::int64, {&map_rule, "tokens of each expert"});
  const Tensor loss = multiply_number(sum(sum(all, 0) * tokens, 0));
  return attach(std::move(scores), loss);
}

}  // namespace trainmem::megatron
