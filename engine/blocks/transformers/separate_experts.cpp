#include "engine/blocks/transformers/separate_experts.h"

namespace trainmem::transformers {

namespace {

constexpr Rule sum_rule{"sum of experts", "",
                        "transformers 4.45 models/mixtral/modeling_mixtral.py: MixtralSparseMoeBlock.forward"};
constexpr Rule choice_rule{"one_hot", "", "pytorch aten/src/ATen/native/Onehot.cpp"};
constexpr Rule where_rule{"nonzero", "", "pytorch aten/src/ATen/native/TensorAdvancedIndexing.cpp: where"};

constexpr Rule add_rule{"index_add", "where each row goes, and the rows: their gradient takes its shape from them",
                        "derivatives.yaml: index_add_ (source)"};

}  // namespace

Tensor expert_mask(const Size& copies, const Size& experts) {
  return allocate({copies, experts}, DType::int64, {&choice_rule});
}

Tensor places_of_expert(const Size& copies) { return allocate({copies, 2}, DType::int64, {&where_rule}); }

Tensor index_add_in_place(Tensor whole, const Tensor& x, const Tensor& indices) {
  const Tensor total = std::move(whole);
  const Ref<Node> node = begin_node(add_rule, {&total, &x});
  keep(node, indices);
  keep(node, x);
  Tensor result = alias(total, total.shape(), total->strides);
  result->is_view = total->is_view;
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept_indices = b.kept(0);
      const Tensor rows = b.kept(1);
      if (b.wants(1)) b.give(1, allocate(rows.shape(), b.gradient().dtype(), {&add_rule}));
      if (b.wants(0)) b.give(0, b.gradient());
    };
  finish_node(node, result);
  return result;
}

bool SeparateExperts::describe(const Model& m) { return m.model_type == "mixtral" || m.model_type == "olmoe"; }

SeparateExperts::SeparateExperts(const Model& m, DType dtype) : model_(m) {
  const Size h = m.hidden_size;
  const Size i = m.experts.moe_intermediate_size;
  for (std::int64_t e = 0; e < m.experts.num_experts; ++e) {
    Expert expert;
    expert.gate = Linear(h, i, false, dtype, "gate");
    expert.down = Linear(i, h, false, dtype, "down");
    expert.up = Linear(h, i, false, dtype, "up");
    experts_.push_back(std::move(expert));
  }
}

/// MixtralBlockSparseTop2MLP.forward.
Tensor SeparateExperts::run(const Expert& expert, const Tensor& x) const {
  Tensor hidden = activate(expert.gate(x), model_.hidden_act);
  hidden = std::move(hidden) * expert.up(x);
  hidden = expert.down(hidden);
  return hidden;
}

/// An expert has its share of the token copies. A token's weight is found by two indices, which is one into the rows.
Tensor SeparateExperts::operator()(const Tensor& tokens, const Routing& routing) const {
  const Place place("experts");
  const Size copies = routing.experts.elements();
  const Size each = ceil_divide(copies, Size(model_.experts.num_experts));
  Tensor total = allocate(tokens.shape(), tokens.dtype(), {&sum_rule});
  const Tensor chosen = expert_mask(copies, model_.experts.num_experts);
  const Tensor weights = view(routing.weights, {copies});
  Tensor found;
  Tensor state;
  Tensor out;
  for (const Expert& expert : experts_) {
    found = places_of_expert(each);
    const Tensor rows = select(found, 1, 1);
    state = index_rows(tokens, rows, "tokens of an expert");
    Tensor computed = run(expert, state);
    Tensor weight = unsqueeze(index_rows(weights, rows), 1);
    out = std::move(computed) * std::move(weight);
    total = index_add_in_place(std::move(total), to(out, tokens.dtype()), rows);
  }
  return total;
}

}  // namespace trainmem::transformers
