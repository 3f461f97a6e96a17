// Experts of Granite 3: tokens are sorted by expert, and each expert's linear layer runs on its part:
// models/granitemoe/modeling_granitemoe.py, and granitemoeshared with an MLP beside them.
#include "engine/blocks/transformers/granite_moe.h"

#include <optional>
#include <vector>

#include "engine/parameters/parameters.h"

namespace trainmem::transformers {

namespace {

constexpr const char* source = "transformers models/granitemoe/modeling_granitemoe.py: GraniteMoeTopKGating";
constexpr Rule gates_rule{"chosen experts", "", source};
constexpr Rule index_rule{"source of a token copy", "", source};
constexpr Rule zeros_rule{"zeros", "", "transformers models/granitemoe/modeling_granitemoe.py: GraniteMoeMoE"};

constexpr Rule add_rule{"index_add", "where each row goes, and the rows: their gradient takes its shape from them",
                        "derivatives.yaml: index_add (source)"};

/// `into`, which wants no gradient, and the rows of x added where `indices` says: a new tensor.
Tensor index_add(const Tensor& into, const Tensor& x, const Tensor& indices) {
  const Ref<Node> node = begin_node(add_rule, {&x});
  keep(node, indices);
  keep(node, x);
  Tensor result = allocate(into.shape(), into.dtype(), {&add_rule});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept_indices = b.kept(0);
      const Tensor rows = b.kept(1);
      b.give(0, allocate(rows.shape(), b.gradient().dtype(), {&add_rule}));
    };
  finish_node(node, result);
  return result;
}

/// One linear layer for each expert, in one stack of weights.
class ParallelExperts {
 public:
  ParallelExperts(const Size& count, const Size& out, const Size& in, DType dtype, const char* name)
      : weight_(make_parameter({count, out, in}, dtype, name)), name_(name) {}

  Tensor operator()(const Tensor& sorted) const {
    const std::int64_t count = weight_.size(0).value();
    const Size each = sorted.size(0) / weight_.size(0);
    std::vector<Size> sizes(static_cast<std::size_t>(count), each);
    sizes.back() = sorted.size(0) - each * Size(count - 1);
    const std::vector<Tensor> inputs = split(sorted, sizes, 0);
    std::vector<Tensor> outputs;
    for (std::int64_t e = 0; e < count; ++e)
      outputs.push_back(linear(inputs[static_cast<std::size_t>(e)], select(weight_, 0, e), {}, name_));
    return concatenate(outputs, 0, name_);
  }

 private:
  Tensor weight_;
  const char* name_;
};

class GraniteMoe : public FeedForwardPart {
 public:
  GraniteMoe(const Model& m, const LlamaForm& form, DType dtype)
      : model_(m),
        input_(m.experts.num_experts, Size(2 * m.experts.moe_intermediate_size), m.hidden_size, dtype,
               "expert gate and up"),
        output_(m.experts.num_experts, m.hidden_size, m.experts.moe_intermediate_size, dtype, "expert down"),
        router_(make_parameter({m.experts.num_experts, m.hidden_size}, dtype, "router")) {
    if (m.experts.n_shared_experts > 0) shared_.emplace(m, form, dtype, Size(shared_expert_width(m)));
  }

  Tensor operator()(const Tensor& x) const override {
    Tensor out = experts(x);
    if (!shared_) return out;
    const Place place("shared expert");
    Tensor shared = (*shared_)(x);
    return std::move(out) + std::move(shared);
  }

 private:
  struct Gating {
    Tensor source, weights, logits;
  };

  Gating route(const Tensor& tokens) const {
    const Place place("router");
    const Size top = model_.experts.num_experts_per_tok;
    const Shape copies{tokens.size(0) * top};
    Gating result;
    result.logits = to(linear(tokens, router_, {}, "router logits"), DType::float32);
    const Chosen chosen = top_k(result.logits, top);
    const Tensor weights = to(softmax(chosen.values), tokens.dtype());
    const Tensor zeros = allocate(result.logits.shape(), weights.dtype(), {&gates_rule});
    const Tensor gates = allocate(result.logits.shape(), weights.dtype(), {&gates_rule});
    { const Tensor integers = allocate(gates.shape(), DType::int64, {&gates_rule}); }
    const Chosen sorted = sort(view(chosen.indices, copies), "order by expert");
    result.source = allocate(copies, DType::int64, {&index_rule, "source of a token copy"});
    result.weights = index_rows(view(weights, copies), sorted.indices, "routing weights by expert");
    return result;
  }

  Tensor experts(const Tensor& x) const {
    const Tensor tokens = reshape(x, {x.size(0) * x.size(1), x.size(2)});
    const Gating gating = route(tokens);
    const Place place("experts");
    const Size width = model_.experts.moe_intermediate_size;
    const Tensor inputs = index_rows(tokens, gating.source, "tokens by expert");
    Tensor hidden = input_(inputs);
    const std::vector<Tensor> parts = split(hidden, {width, width}, -1);
    Tensor activated = activate(parts[0], model_.hidden_act);
    hidden = std::move(activated) * parts[1];
    Tensor out = output_(hidden);
    out = multiply(out, unsqueeze(gating.weights, 1), "weighted expert output");
    const Tensor zeros = allocate(tokens.shape(), out.dtype(), {&zeros_rule});
    return view(index_add(zeros, out, gating.source), x.shape());
  }

  const Model& model_;
  ParallelExperts input_, output_;
  Tensor router_;
  std::optional<FeedForward> shared_;
};

}  // namespace

std::unique_ptr<FeedForwardPart> make_granite_moe(const Model& m, const LlamaForm& form, DType dtype) {
  return std::make_unique<GraniteMoe>(m, form, dtype);
}

}  // namespace trainmem::transformers
