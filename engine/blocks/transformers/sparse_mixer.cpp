// The statements of models/phimoe/modeling_phimoe.py, sparsemixer and PhimoeMultiplier. Tensors of one number for each
// token and expert; what one statement makes only for the next is left out where it is no larger than those beside it.
#include "engine/blocks/transformers/sparse_mixer.h"

namespace trainmem::transformers {

namespace {

constexpr const char* source = "transformers models/phimoe/modeling_phimoe.py: sparsemixer";
constexpr Rule noise_rule{"jitter", "random numbers: the gradient is multiplied with them", source};
constexpr Rule mask_rule{"masked gates", "", source};
constexpr Rule chosen_rule{"chosen experts", "", source};
constexpr Rule rest_rule{"scores without the first choice", "", source};
constexpr Rule multiplier_rule{"multiplier", "weight, choice and gates: the gradient of the scores needs them",
                               "transformers models/phimoe/modeling_phimoe.py: PhimoeMultiplier"};

/// One choice among the scores: its weight and the expert. The gradient goes to the scores by one node,
/// PhimoeMultiplier; the nodes before it pass nothing on, but what they keep lives as long.
Routing choose(const Tensor& scores) {
  const Shape one{scores.size(0), 1};
  const Ref<Node> node = begin_node(multiplier_rule, {&scores});
  const Set<bool> no_grad(active_run().grad_enabled, false);
  const Tensor mask = allocate(scores.shape(), DType::boolean, {&mask_rule, "masked gates"});
  keep(node, mask);
  Tensor gates = masked_fill(scores, mask);
  Routing routing;
  {
    const Tensor noise = allocate(scores.shape(), scores.dtype(), {&chosen_rule});
    const Tensor noisy = allocate(scores.shape(), scores.dtype(), {&chosen_rule});
    const Tensor largest = allocate(one, scores.dtype(), {&chosen_rule});
    routing.experts = allocate(one, DType::int64, {&chosen_rule, "chosen experts"});
  }
  keep(node, routing.experts);
  gates = softmax(gates);
  keep(node, gates);
  const Tensor weight = gather(gates, routing.experts);
  keep(node, weight);
  routing.weights = allocate(one, weight.dtype(), {&multiplier_rule, "routing weights"});
  if (node)
    node->backward = [shape = scores.shape()](Backward& b) {
      const DType dtype = b.gradient().dtype();
      const Tensor weighted = allocate(b.gradient().shape(), dtype, {&multiplier_rule});
      const Tensor negative = allocate(b.gradient().shape(), dtype, {&multiplier_rule});
      b.give(0, allocate(shape, dtype, {&multiplier_rule}));
    };
  finish_node(node, routing.weights);
  return routing;
}

}  // namespace

Tensor jittered(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(noise_rule, {&x});
  const Tensor noise = allocate(x.shape(), x.dtype(), {&noise_rule, "jitter"});
  keep(node, noise);
  Tensor result = alias(x, x.shape(), x->strides);
  result->is_view = x->is_view;
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(b.gradient().shape(), b.gradient().dtype(), {&noise_rule}));
    };
  finish_node(node, result);
  return result;
}

Routing sparse_mixer(const Tensor& logits) {
  const Routing first = choose(logits);
  const Tensor rest = allocate(logits.shape(), logits.dtype(), {&rest_rule});
  const Routing second = choose(logits);
  Routing routing;
  routing.logits = logits;
  routing.weights = concatenate({first.weights, second.weights}, -1, "routing weights");
  routing.experts = allocate({logits.size(0), 2}, DType::int64, {&chosen_rule, "chosen experts"});
  return routing;
}

}  // namespace trainmem::transformers
