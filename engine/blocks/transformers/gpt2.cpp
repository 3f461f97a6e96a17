// GPT-2: models/gpt2/modeling_gpt2.py.
#include "engine/blocks/transformers/families.h"

namespace trainmem::transformers {

namespace {

class Gpt2Block : public Block {
 public:
  Gpt2Block(const Model& m, DType dtype)
      : model_(m),
        norm_1_(NormLayer::Form::layer_norm, {m.hidden_size}, true, true, dtype),
        query_key_value_(m.hidden_size, Size(3) * Size(m.hidden_size), dtype, "query, key and value"),
        projection_(m.hidden_size, m.hidden_size, dtype, "attention projection"),
        norm_2_(NormLayer::Form::layer_norm, {m.hidden_size}, true, true, dtype),
        up_(m.hidden_size, m.intermediate_size, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, dtype, "down") {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = norm_1_.at("norm before attention", std::move(hidden));
    Tensor weights;
    Tensor attended = attend(hidden, inputs, weights);
    if (compiled()) {
      hidden = compiled_residual_sum(std::move(residual), std::move(attended), model_.hidden_dropout, false);
    } else {
      hidden = attended + residual;
    }
    residual = hidden;
    hidden = norm_2_.at("norm before MLP", std::move(hidden));
    Tensor fed = mlp(hidden);
    if (compiled()) return compiled_residual_sum(std::move(residual), std::move(fed), model_.hidden_dropout, true);
    return residual + fed;
  }

 private:
  static bool compiled() { return active_run().compiled_region != 0; }

  /// resid_dropout. A compiled block drops where it adds.
  Tensor drop(Tensor x) const { return compiled() ? x : dropout(std::move(x), model_.hidden_dropout); }

  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size h = model_.hidden_size;
    const Size d = model_.head_dim;
    const Size a = model_.num_attention_heads;
    std::vector<Tensor> parts = split(query_key_value_(hidden), {h, h, h}, 2);
    const Tensor k = split_heads(std::move(parts[1]), a, d);
    const Tensor v = split_heads(std::move(parts[2]), a, d);
    const Tensor q = split_heads(std::move(parts[0]), a, d);
    Tensor out;
    if (inputs.attention == AttentionKernel::eager) {
      // eager_attention_forward of GPT-2: softmax in the scores' own format.
      weights = multiply_number(matmul(q, transpose(k, -1, -2)));
      if (inputs.mask.defined()) weights = weights + inputs.mask;
      weights = to(softmax(std::move(weights)), v.dtype());
      weights = dropout(std::move(weights), model_.attention_dropout);
      out = transpose(matmul(weights, v), 1, 2);
    } else {
      out = attention(q, k, v, inputs.mask, inputs.attention, {model_.attention_dropout}, weights);
    }
    out = contiguous(reshape(std::move(out), hidden.shape()));
    out = projection_(std::move(out));
    return drop(std::move(out));
  }

  Tensor mlp(Tensor x) const {
    const Place place("mlp");
    Tensor hidden = up_(std::move(x));
    hidden = activate(std::move(hidden), model_.hidden_act);
    hidden = down_(std::move(hidden));
    return drop(std::move(hidden));
  }

  const Model& model_;
  NormLayer norm_1_;
  Conv1D query_key_value_, projection_;
  NormLayer norm_2_;
  Conv1D up_, down_;
};

class Gpt2 : public Architecture {
 public:
  using Architecture::Architecture;

  void make_embedding() override {
    const Place place("embedding");
    tokens_ = make_parameter({model.vocab_size, model.hidden_size}, weights, "token embedding");
    positions_ = make_parameter({model.learned_positions, model.hidden_size}, weights, "position embedding");
  }

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<Gpt2Block>(model, weights); }

  void make_head() override {
    {
      const Place place("final norm");
      norm_ = NormLayer(NormLayer::Form::layer_norm, {model.hidden_size}, true, true, weights);
    }
    const Place place("head");
    if (model.tie_word_embeddings) {
      head_.weight = tokens_;
      head_.role = "logits";
    } else {
      head_ = Linear(model.hidden_size, model.vocab_size, false, weights, "logits");
    }
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    {
      const Place place("embedding");
      Tensor embedded = input_embeddings(tokens_, ids);
      const Tensor where = position_ids(ids.size(1));
      Tensor at = embedding(positions_, view(where, {1, ids.size(1)}));
      state.hidden = embedded + at;
      state.held = {embedded, where, at};
    }
    state.inputs.attention = attention;
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), state.held[0].dtype(), attention, false);
    const Place place("embedding");
    state.hidden = dropout(std::move(state.hidden), model.embedding_dropout);
    return state;
  }

  Tensor end(Tensor hidden) override { return norm_.at("final norm", std::move(hidden)); }

  Tensor head(Tensor hidden) override { return head_(std::move(hidden)); }
  Tensor head_weight() const override { return head_.weight; }

 private:
  Tensor tokens_;
  Tensor positions_;
  NormLayer norm_;
  Linear head_;
};

}  // namespace

std::unique_ptr<Architecture> make_gpt2(const Model& model, DType weights) {
  return std::make_unique<Gpt2>(model, weights);
}

}  // namespace trainmem::transformers
