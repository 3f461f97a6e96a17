// Phi-1.5 and Phi-2: models/phi/modeling_phi.py.
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"

namespace trainmem::transformers {

namespace {

class PhiBlock : public Block {
 public:
  PhiBlock(const Model& m, DType dtype)
      : model_(m),
        query_(m.hidden_size, m.hidden_size, m.attention_bias, dtype, "query"),
        key_(m.hidden_size, Size(m.num_key_value_heads) * Size(m.head_dim), m.attention_bias, dtype, "key"),
        value_(m.hidden_size, Size(m.num_key_value_heads) * Size(m.head_dim), m.attention_bias, dtype, "value"),
        dense_(m.hidden_size, m.hidden_size, m.attention_output_bias, dtype, "attention projection"),
        up_(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down"),
        norm_(block_norm(m, dtype)) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    const Tensor residual = hidden;
    hidden = norm_.at("norm before attention", std::move(hidden));
    Tensor weights;  // of eager attention: held until the block returns
    Tensor attended = attend(hidden, inputs, weights);
    attended = dropout(std::move(attended), model_.hidden_dropout);
    const Tensor fed = dropout(mlp(hidden), model_.hidden_dropout);
    return (attended + fed) + residual;
  }

 private:
  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    const Size turning = inputs.cos.size(-1);
    Tensor q = split_heads(query_(hidden), model_.num_attention_heads, d);
    Tensor k = split_heads(key_(hidden), model_.num_key_value_heads, d);
    const Tensor v = split_heads(value_(hidden), model_.num_key_value_heads, d);
    // The parts stay local variables until the function returns.
    Tensor q_turning = slice(q, -1, 0, turning);
    const Tensor q_rest = slice(q, -1, turning, d);
    Tensor k_turning = slice(k, -1, 0, turning);
    const Tensor k_rest = slice(k, -1, turning, d);
    apply_rotary(q_turning, k_turning, inputs.cos, inputs.sin);
    q = concatenate({q_turning, q_rest}, -1, "query");
    k = concatenate({k_turning, k_rest}, -1, "key");
    Tensor out = attention(q, k, v, inputs.mask, inputs.attention, {model_.attention_dropout}, weights);
    out = contiguous(reshape(std::move(out), hidden.shape()));
    return dense_(std::move(out));
  }

  Tensor mlp(const Tensor& x) const {
    const Place place("mlp");
    Tensor hidden = up_(x);
    hidden = activate(std::move(hidden), model_.hidden_act);
    return down_(std::move(hidden));
  }

  const Model& model_;
  Linear query_, key_, value_, dense_, up_, down_;
  NormLayer norm_;
};

class Phi : public Decoder {
 public:
  using Decoder::Decoder;

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<PhiBlock>(model, weights); }

  void make_head() override {
    rotary_ = std::make_unique<Rotary>(turning_width(model));
    Decoder::make_head();
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    const Place place("embedding");
    Tensor embedded = embed(embedding_, ids);
    state.inputs.positions = position_ids(ids.size(1));
    state.inputs.attention = attention;
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), embedded.dtype(), attention, false);
    embedded = dropout(std::move(embedded), model.embedding_dropout);
    std::tie(state.inputs.cos, state.inputs.sin) = rotary_->tables(ids.size(1), embedded.dtype());
    state.held = {embedded};
    state.hidden = std::move(embedded);
    return state;
  }

 private:
  std::unique_ptr<Rotary> rotary_;
};

}  // namespace

std::unique_ptr<Architecture> make_phi(const Model& model, DType weights) {
  return std::make_unique<Phi>(model, weights);
}

}  // namespace trainmem::transformers
