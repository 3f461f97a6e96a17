// Persimmon: models/persimmon/modeling_persimmon.py. Heads lie one behind the other in the fused projection, each with
// its query, key and value.
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"

namespace trainmem::transformers {

namespace {

NormLayer head_norm(const Model& m, DType dtype) {
  if (m.qk_norm == QkNorm::none) return {};
  return {NormLayer::Form::layer_norm, {m.head_dim}, m.norm_weight, m.norm_bias, dtype};
}

class PersimmonBlock : public Block {
 public:
  PersimmonBlock(const Model& m, DType dtype)
      : model_(m),
        query_key_value_(m.hidden_size, Size(3) * Size(m.hidden_size), m.attention_bias, dtype, "query, key and value"),
        dense_(m.hidden_size, m.hidden_size, m.attention_output_bias, dtype, "attention projection"),
        query_norm_(head_norm(m, dtype)),
        key_norm_(head_norm(m, dtype)),
        up_(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down"),
        input_norm_(block_norm(m, dtype)),
        post_attention_norm_(block_norm(m, dtype)) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = input_norm_.at("norm before attention", std::move(hidden));
    Tensor weights;  // of eager attention: held until the block returns
    hidden = attend(hidden, inputs, weights);
    hidden = residual + std::move(hidden);

    residual = hidden;
    hidden = post_attention_norm_.at("norm before MLP", std::move(hidden));
    hidden = mlp(hidden);
    hidden = dropout(std::move(hidden), model_.hidden_dropout);
    return hidden + residual;
  }

 private:
  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    const Size turning = inputs.cos.size(-1);
    // Local variables until the function returns.
    const Tensor together = query_key_value_(hidden);
    const Shape parts{hidden.size(0), hidden.size(1), model_.num_attention_heads, Size(3), d};
    Tensor q;
    Tensor k;
    Tensor v;
    {
      const Tensor seen = view(together, parts);
      q = select(seen, 3, 0);
      k = select(seen, 3, 1);
      v = select(seen, 3, 2);
    }
    if (model_.qk_norm != QkNorm::none) {
      q = query_norm_.at("query norm", std::move(q));
      k = key_norm_.at("key norm", std::move(k));
    }
    q = transpose(std::move(q), 1, 2);
    v = transpose(std::move(v), 1, 2);
    k = transpose(std::move(k), 1, 2);
    Tensor q_turning = slice(q, -1, 0, turning);
    const Tensor q_rest = slice(q, -1, turning, d);
    Tensor k_turning = slice(k, -1, 0, turning);
    const Tensor k_rest = slice(k, -1, turning, d);
    apply_rotary(q_turning, k_turning, inputs.cos, inputs.sin);
    q = concatenate({q_turning, q_rest}, -1, "query");
    k = concatenate({k_turning, k_rest}, -1, "key");
    Tensor out = attention(q, k, v, inputs.mask, inputs.attention, {model_.attention_dropout}, weights);
    out = reshape(std::move(out), hidden.shape());
    return dense_(std::move(out));
  }

  Tensor mlp(const Tensor& x) const {
    const Place place("mlp");
    Tensor hidden = up_(x);
    hidden = activate(std::move(hidden), model_.hidden_act);
    return down_(std::move(hidden));
  }

  const Model& model_;
  Linear query_key_value_, dense_;
  NormLayer query_norm_, key_norm_;
  Linear up_, down_;
  NormLayer input_norm_, post_attention_norm_;
};

class Persimmon : public Decoder {
 public:
  using Decoder::Decoder;

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<PersimmonBlock>(model, weights); }

  void make_head() override {
    rotary_ = std::make_unique<Rotary>(turning_width(model));
    Decoder::make_head();
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    const Place place("embedding");
    const Tensor embedded = input_embeddings(embedding_, ids);
    state.inputs.positions = position_ids(ids.size(1));
    state.inputs.attention = attention;
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), embedded.dtype(), attention, false);
    state.hidden = embedded;
    std::tie(state.inputs.cos, state.inputs.sin) = rotary_->tables(ids.size(1), embedded.dtype());
    state.held = {embedded};
    return state;
  }

 private:
  std::unique_ptr<Rotary> rotary_;
};

}  // namespace

std::unique_ptr<Architecture> make_persimmon(const Model& model, DType weights) {
  return std::make_unique<Persimmon>(model, weights);
}

}  // namespace trainmem::transformers
