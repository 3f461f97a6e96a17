// Mixture of experts of Megatron-Core: router, dispatchers, grouped or sequential experts, shared experts.
// megatron/core/transformer/moe: moe_layer.py, router.py, token_dispatcher.py, experts.py (TEGroupedMLP,
// SequentialMLP).
#include "engine/blocks/megatron/balancing_loss.h"
#include "engine/blocks/megatron/dispatch.h"
#include "engine/blocks/megatron/gpt.h"
#include "engine/parameters/parameters.h"
#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule source_rule{"token order", "", "Megatron-Core transformer/moe/moe_utils.py: permute"};

/// Rows in and out of a linear layer that no rank divides by the sequence.
SequenceLayout rows_only(const Size& rows) {
  SequenceLayout layout;
  layout.sequence = layout.local = rows;
  return layout;
}

}  // namespace

StageModel::ExpertLayer StageModel::make_experts(Size times) {
  const Sizes& z = settings_.sizes;
  const Experts& e = settings_.model.experts;
  const Size width = ceil_divide(Size(e.moe_intermediate_size), z.expert_t);
  ExpertLayer layer;
  layer.router = add_parameter({e.num_experts, z.h}, "router", times);
  const auto linear_of_experts = [&](const Size& in, const Size& out, const char* name) {
    ParallelLinear linear = make_linear(in, out, false, name, z.local_experts * times);
    linear.stack = z.local_experts;
    linear.float8 = settings_.float8;
    weights_.back() = {out, in, z.local_experts * times, true, true, settings_.float8 != Float8::none};
    return linear;
  };
  layer.fc1 = linear_of_experts(z.h, settings_.model.gated_mlp ? Size(2) * width : width, "expert input projection");
  layer.fc2 = linear_of_experts(width, z.h, "expert output projection");
  if (e.n_shared_experts == 0) return layer;
  const Size shared = ceil_divide(Size(shared_expert_width(settings_.model)), z.t);
  layer.shared_fc1 = make_engine_linear(z.h, settings_.model.gated_mlp ? Size(2) * shared : shared, false,
                                        "shared expert input projection", times);
  layer.shared_fc2 = make_engine_linear(shared, z.h, false, "shared expert output projection", times);
  if (e.shared_expert_gate) layer.shared_gate = add_parameter({1, z.h}, "shared expert gate", times);
  return layer;
}

/// TopKRouter: weights of the chosen experts among zeros, (tokens, experts).
Tensor StageModel::route(const ExpertLayer& layer, const Tensor& tokens) const {
  const Place place("router");
  const Experts& e = settings_.model.experts;
  const Tensor logits = linear(tokens, layer.router, {}, "router logits");
  const auto among_zeros = [&](Tensor weights, const Tensor& experts) {
    return with_balancing_loss(scatter_scores(std::move(weights), experts, e.num_experts), logits, e);
  };
  if (e.router_bias) {  // moe_router_score_function sigmoid, with the bias that balances the load
    const Tensor scores = to(sigmoid(to(logits, DType::float32)), logits.dtype());
    const Tensor experts = top_k(detach(scores), e.num_experts_per_tok).indices;
    Tensor weights = gather(scores, experts);
    const Tensor total = sum(weights, 1, true);
    weights = divide_in_place(std::move(weights), total);
    return among_zeros(std::move(weights), experts);
  }
  if (settings_.model.latent_attention.kv_lora_rank > 0) {  // moe_router_pre_softmax, as DeepSeek-V2 is trained
    const Tensor scores = to(softmax(logits, DType::float32), logits.dtype());
    Chosen chosen = top_k(scores, e.num_experts_per_tok);
    Tensor weights = multiply_number(std::move(chosen.values));
    return among_zeros(std::move(weights), chosen.indices);
  }
  const Chosen chosen = top_k(logits, e.num_experts_per_tok);
  Tensor weights = to(softmax(chosen.values, DType::float32), logits.dtype());
  return among_zeros(std::move(weights), chosen.indices);
}

/// All experts of the rank in one product each way, or one after another with the rows of each.
Tensor StageModel::local_experts(const ExpertLayer& layer, Tensor rows, const Tensor& weights) const {
  const Place place("experts");
  const std::int64_t experts = settings_.sizes.local_experts.value();
  if (settings_.recipe.grouped_experts || experts == 1) return expert_mlp(layer, std::move(rows), weights);
  ExpertLayer one = layer;
  one.fc1.stack = one.fc2.stack = 1;
  std::vector<Size> sizes(static_cast<std::size_t>(experts), rows.size(0) / Size(experts));
  sizes.back() = rows.size(0) - sizes.back() * Size(experts - 1);
  std::vector<Tensor> rows_of = split(std::move(rows), sizes, 0);
  const std::vector<Tensor> weights_of = split(weights, sizes, 0);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < sizes.size(); ++i) outputs.push_back(expert_mlp(one, rows_of[i], weights_of[i]));
  rows_of.clear();
  return concatenate(outputs, 0, "expert output");
}

/// fp8 products take rows in multiples of sixteen: each expert's are copied with some more, which are not counted, and
/// the result without them (experts.py: quantization_padding, quantization_unpadding).
Tensor StageModel::expert_mlp(const ExpertLayer& layer, Tensor rows, const Tensor& weights_of_rows) const {
  const SequenceLayout layout = rows_only(rows.size(0));
  const bool float8 = layer.fc1.float8 != Float8::none;
  if (float8) rows = reorder(std::move(rows), "padded tokens by expert");
  const Tensor weights = float8 ? reorder(weights_of_rows, "padded routing weights") : weights_of_rows;
  Tensor wide = column_linear(view(std::move(rows), {layout.sequence, 1, layer.fc1.in}), layer.fc1, layout,
                              "expert input projection");
  wide = view(std::move(wide), {layout.sequence, layer.fc1.out});
  const Tensor row_weights = unsqueeze(weights, 1);
  Tensor active;
  if (settings_.model.gated_mlp && settings_.recipe.fused_mlp) {
    active = weighted_swiglu(std::move(wide), row_weights);
  } else {
    active = activation(std::move(wide));
    active = multiply(std::move(active), row_weights);
  }
  active = view(std::move(active), {layout.sequence, 1, layer.fc2.in});
  Tensor out = row_linear(std::move(active), layer.fc2, layout, "expert output projection");
  out = view(std::move(out), {layout.sequence, layer.fc2.out});
  return float8 ? reorder(std::move(out), "expert output") : out;
}

Tensor StageModel::shared_expert(const ExpertLayer& layer, const Tensor& normed) const {
  const Place place("shared expert");
  const Sizes& z = settings_.sizes;
  Tensor wide = column_linear(normed, layer.shared_fc1, z.layout, "shared expert input projection");
  Tensor active = settings_.model.gated_mlp && settings_.recipe.fused_mlp ? bias_swiglu(std::move(wide), {})
                                                                          : activation(std::move(wide));
  Tensor out = row_linear(std::move(active), layer.shared_fc2, z.layout, "shared expert output projection");
  if (!layer.shared_gate.defined()) return out;
  Tensor gate = sigmoid(linear(normed, layer.shared_gate));
  return multiply(std::move(out), std::move(gate));
}

// MoELayer.forward.
Tensor StageModel::experts(const ExpertLayer& layer, Tensor argument) const {
  const Tensor normed = std::move(argument);
  const Tensor scores = route(layer, view(normed, {normed.size(0) * normed.size(1), settings_.sizes.h}));
  return settings_.recipe.expert_dispatcher == ExpertDispatcher::all_gather ? gathered_experts(layer, normed, scores)
                                                                            : exchanged_experts(layer, normed, scores);
}

// MoEAllGatherTokenDispatcher: every rank has the tokens of all and picks those of its experts.
Tensor StageModel::gathered_experts(const ExpertLayer& layer, const Tensor& normed, const Tensor& scores) const {
  const Sizes& z = settings_.sizes;
  const Size ranks = z.expert_ranks * z.expert_t;
  const Size tokens = normed.size(0) * normed.size(1);
  const Size of_all = tokens * ranks;
  const Size sent = of_all * Size(settings_.model.experts.num_experts_per_tok) / z.expert_ranks;
  const Size received = z.expert_ranks > 1 ? received_rows(sent, settings_.recipe.expert_imbalance) : sent;
  Tensor shared;
  if (settings_.model.experts.n_shared_experts > 0) shared = shared_expert(layer, normed);

  Tensor rows = view(normed, {tokens, z.h});
  Tensor chosen = scores;
  if (ranks > 1) {
    chosen = gather_rows(std::move(chosen), ranks);
    rows = gather_in_buffer(std::move(rows), ranks);
  }
  chosen = contiguous(slice(std::move(chosen), 1, 0, z.local_experts), "scores of local experts");
  const Tensor source = allocate({received}, DType::int64, {&source_rule, "source of a token copy"});
  const Tensor permuted = index_rows(std::move(rows), source, "tokens by expert");
  const Tensor weights = select_scores(std::move(chosen), received);
  Tensor out = scatter_add_rows(local_experts(layer, permuted, weights), source, of_all);
  if (ranks > 1) out = reduce_rows(std::move(out), ranks);
  out = view(std::move(out), normed.shape());
  return shared.defined() ? add(std::move(out), std::move(shared)) : out;
}

// MoEAlltoAllTokenDispatcher. `permuted`, `dispatched` and `computed` are its local variables:
// they live until it returns.
Tensor StageModel::exchanged_experts(const ExpertLayer& layer, const Tensor& normed, const Tensor& scores) const {
  const Sizes& z = settings_.sizes;
  const Size tokens = normed.size(0) * normed.size(1);
  const Size sent = tokens * Size(settings_.model.experts.num_experts_per_tok);
  const bool exchanges = z.expert_ranks > 1;
  const Size received = exchanges ? received_rows(sent, settings_.recipe.expert_imbalance) : sent;
  const Tensor flat = view(normed, {tokens, z.h});

  const Tensor source = allocate({sent}, DType::int64, {&source_rule, "source of a token copy"});
  Tensor weights = select_scores(scores, sent);
  const Tensor permuted = index_rows(flat, source, "tokens by expert");
  Tensor dispatched = exchanges ? all_to_all(permuted, received, "received tokens") : permuted;
  const bool several = z.local_experts > 1;
  if (exchanges && !several) set_component(dispatched, Component::activations);  // the experts keep them
  if (exchanges) weights = all_to_all(std::move(weights), received, "received routing weights");

  Tensor shared;
  if (settings_.model.experts.n_shared_experts > 0) shared = shared_expert(layer, normed);
  Tensor rows = dispatched;
  const bool divided = z.expert_t > 1;
  if (divided) {
    rows = gather_rows(std::move(rows), z.expert_t);
    weights = gather_rows(std::move(weights), z.expert_t);
  }
  if (several) {
    rows = reorder(std::move(rows), "tokens by local expert");
    weights = reorder(std::move(weights), "routing weights by local expert");
  }
  Tensor out = local_experts(layer, std::move(rows), weights);
  if (several) out = reorder(std::move(out), "expert output");
  if (divided) out = reduce_rows(std::move(out), z.expert_t);
  const Tensor computed = out;
  if (exchanges) out = all_to_all(std::move(out), sent, "returned tokens");
  out = view(scatter_add_rows(std::move(out), source, tokens), normed.shape());
  return shared.defined() ? add(std::move(out), std::move(shared)) : out;
}

}  // namespace trainmem::megatron
