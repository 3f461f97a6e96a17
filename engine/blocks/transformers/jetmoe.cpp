// models/jetmoe/modeling_jetmoe.py: JetMoeMoA, JetMoeAttention and JetMoeMoE. An expert has its share of the token
// copies; the last one has what is left over.
#include "engine/blocks/transformers/jetmoe.h"

#include <utility>
#include <vector>

#include "engine/blocks/transformers/separate_experts.h"

namespace trainmem::transformers {

namespace {

constexpr Rule rule{"token copies", "", "transformers models/jetmoe/modeling_jetmoe.py: JetMoeTopKGating"};

/// Which token each copy is of, where it stands among the tokens' own copies, and its weight: by experts.
struct Gates {
  Tensor order, source, weights;
  Tensor logits;  ///< of the router, returned
};

/// A router and two stacks of matrices, (experts, out, in).
class Stacks {
 public:
  Stacks(const Model& m, const Size& width, const Size& inner, DType dtype)
      : model_(m), bias_(make_parameter({m.hidden_size}, dtype, "experts' bias")) {
    const Size n = m.experts.num_experts;
    input_ = make_parameter({n, width, m.hidden_size}, dtype, "experts' input");
    output_ = make_parameter({n, m.hidden_size, inner}, dtype, "experts' output");
    router_ = make_parameter({n, m.hidden_size}, dtype, "router");
  }

  /// JetMoeTopKGating.
  Gates choose(const Tensor& tokens) const {
    const Place place("router");
    const Size top = model_.experts.num_experts_per_tok;
    const Shape each{tokens.size(0), model_.experts.num_experts};
    const Tensor logits = to(linear(tokens, router_, {}, "router logits"), DType::float32);
    const Chosen chosen = top_k(logits, top);
    const Tensor gates = to(softmax(chosen.values), tokens.dtype());
    const Tensor zeros = allocate(each, gates.dtype(), {&rule});
    const Tensor marks = allocate(each, gates.dtype(), {&rule});
    { const Tensor counted = allocate(each, DType::int64, {&rule}); }
    const Shape copies{tokens.size(0) * top};
    const Chosen sorted = sort(view(chosen.indices, copies), "order by expert");
    const Tensor source = allocate(copies, DType::int64, {&rule, "source of a token copy"});
    return {sorted.indices, source, index_rows(view(gates, copies), sorted.indices), logits};
  }

  Tensor into(const Tensor& copies) const { return in_turn(copies, input_); }

  /// The second matrices, the weights, and the sum of each token's copies.
  Tensor out_of(const Tensor& copies, const Gates& gates, const Shape& shape) const {
    Tensor out = in_turn(copies, output_);
    out = out * unsqueeze(gates.weights, 1);
    const Tensor zeros = zeros_for(out, shape[0] * shape[1]);
    const Tensor total = summed(zeros, out, gates.source);
    return view(total, shape) + bias_;
  }

  static Tensor zeros_for(const Tensor& x, const Size& rows) {
    return allocate({rows, x.size(1)}, x.dtype(), {&rule, "zeros"});
  }

  /// zeros.index_add(0, rows, x).
  static Tensor summed(const Tensor& zeros, const Tensor& x, const Tensor& rows) {
    return index_add_in_place(allocate(zeros.shape(), x.dtype(), {&rule, "sum of experts"}), x, rows);
  }

 private:
  /// JetMoeParallelExperts.
  static Tensor in_turn(const Tensor& copies, const Tensor& weight) {
    const std::int64_t experts = weight.size(0).value();
    const Size each = copies.size(0) / Size(experts);
    std::vector<Size> sizes(static_cast<std::size_t>(experts), each);
    sizes.back() = copies.size(0) - each * Size(experts - 1);
    const std::vector<Tensor> parts = split(copies, sizes, 0);
    std::vector<Tensor> outputs;
    for (std::int64_t e = 0; e < experts; ++e) {
      const Tensor own = select(weight, 0, e);
      outputs.push_back(linear(parts[static_cast<std::size_t>(e)], own));
    }
    return concatenate(outputs, 0);
  }

  const Model& model_;
  Tensor bias_, input_, output_, router_;
};

Tensor rows_of(const Tensor& x) { return reshape(x, {x.size(0) * x.size(1), x.size(2)}); }

class JetMoeAttention : public AttentionPart {
 public:
  JetMoeAttention(const Model& m, DType dtype)
      : model_(m),
        width_(m.num_key_value_heads * m.head_dim),
        experts_(m, width_, width_, dtype),
        keys_(m.hidden_size, Size(2) * width_, false, dtype, "key and value") {}

  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& returned) const override {
    const Place place("attention");
    const Size b = hidden.size(0);
    const Size s = hidden.size(1);
    const Size top = model_.experts.num_experts_per_tok;
    const Size k = model_.num_key_value_heads;
    const Size d = model_.head_dim;
    Gates gates;
    Tensor q = queries(hidden, gates);
    std::vector<Tensor> both = split(keys_(hidden), {width_, width_}, -1);
    q = transpose(view(std::move(q), {b, s, top * k, d}), 1, 2);
    Tensor key = split_heads(std::move(both[0]), k, d);
    Tensor value = split_heads(std::move(both[1]), k, d);
    apply_rotary(q, key, inputs.cos, inputs.sin);
    const auto repeated = [&](const Tensor& x) {
      return concatenate(std::vector<Tensor>(static_cast<std::size_t>(top.value()), x), 1);
    };
    key = repeated(key);
    value = repeated(value);
    Tensor weights;  // the block has no name for them
    const AttentionOptions options{model_.attention_dropout};
    const Tensor out = attention(q, key, value, inputs.mask, inputs.attention, options, weights);
    returned = gates.logits;
    const Tensor rows = view(out, {b * s * top, width_});
    return experts_.out_of(index_rows(rows, gates.order), gates, hidden.shape());
  }

 private:
  /// JetMoeMoA.map.
  Tensor queries(const Tensor& hidden, Gates& gates) const {
    const Tensor tokens = rows_of(hidden);
    gates = experts_.choose(tokens);
    const Tensor copies = index_rows(tokens, gates.source, "tokens by expert");
    const Tensor projected = experts_.into(copies);
    return Stacks::summed(Stacks::zeros_for(projected, copies.size(0)), projected, gates.order);
  }

  const Model& model_;
  Size width_;
  Stacks experts_;
  Linear keys_;
};

class JetMoeExperts : public FeedForwardPart {
 public:
  JetMoeExperts(const Model& m, DType dtype)
      : model_(m), experts_(m, Size(2) * m.intermediate_size, m.intermediate_size, dtype) {}

  Tensor operator()(const Tensor& x) const override {
    const Place place("experts");
    const Tensor tokens = rows_of(x);
    const Gates gates = experts_.choose(tokens);
    const Tensor copies = index_rows(tokens, gates.source, "tokens by expert");
    const Size inner = model_.intermediate_size;
    const std::vector<Tensor> parts = split(experts_.into(copies), {inner, inner}, -1);
    Tensor gate = activate(parts[0], model_.hidden_act);
    const Tensor product = std::move(gate) * parts[1];
    return experts_.out_of(product, gates, x.shape());
  }

 private:
  const Model& model_;
  Stacks experts_;
};

}  // namespace

std::unique_ptr<AttentionPart> make_jetmoe_attention(const Model& m, DType dtype) {
  return std::make_unique<JetMoeAttention>(m, dtype);
}

std::unique_ptr<FeedForwardPart> make_jetmoe_experts(const Model& m, DType dtype) {
  return std::make_unique<JetMoeExperts>(m, dtype);
}

}  // namespace trainmem::transformers
