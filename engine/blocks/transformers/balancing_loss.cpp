// The routers' logits of all layers together, their softmax, and how often which expert is chosen, one-hot: kept is
// the softmax. L layers of T tokens, E experts, k of them chosen.
// transformers models/mixtral/modeling_mixtral.py: load_balancing_loss_func, which the other families have word by
// word; utils/output_capturing.py collects the logits.
#include "engine/blocks/transformers/balancing_loss.h"

#include <utility>

#include "engine/tensor/mean_first.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr Rule choice_rule{"one_hot", "", "pytorch aten/src/ATen/native/Onehot.cpp"};
constexpr Rule mask_rule{"token mask", "attention mask, repeated for every layer and expert: the gradient needs it",
                         "transformers models/mixtral/modeling_mixtral.py: load_balancing_loss_func"};

/// What is multiplied here the source divides; what a division by a constant keeps, a product keeps.
Tensor masked_mean(Tensor x, const Tensor& mask) {
  const Tensor total = sum(std::move(x) * mask, 0);
  const Tensor count = sum(mask, 0);
  return total * count;
}

}  // namespace

void collect_router_logits(const Tensor& logits) {
  if (active_run().router_logits != nullptr) active_run().router_logits->push_back(logits);
}

Tensor balancing_loss(const std::vector<Tensor>& router_logits, const Experts& experts, const Tensor& mask) {
  const Tensor logits = concatenate(router_logits, 0, "router logits of all layers");
  const Tensor weights = softmax(logits);
  const Size rows = weights.size(0);
  const Size k = experts.num_experts_per_tok;
  const Size n = experts.num_experts;
  const Chosen chosen = top_k(weights, k);
  const Tensor choice = allocate({rows, k, n}, DType::int64, {&choice_rule, "chosen experts, one-hot"});
  Tensor tokens_of_expert, probability;
  if (mask.defined()) {
    const Tensor of_choice = allocate({rows, k, n}, DType::int64, {&mask_rule});
    tokens_of_expert = masked_mean(to(choice, DType::float32), of_choice);
    const Tensor of_weights = allocate({rows, n}, DType::int64, {&mask_rule});
    probability = masked_mean(weights, of_weights);
  } else {
    tokens_of_expert = mean_first(to(choice, DType::float32));
    probability = mean_first(weights);
  }
  const Tensor product = tokens_of_expert * unsqueeze(probability, 0);
  return multiply_number(sum(view(product, {k * n}), 0));
}

}  // namespace trainmem::transformers
