// The decoder of ModernBERT, which Ettin's models are: models/modernbert_decoder/modeling_modernbert_decoder.py.
#include <tuple>
#include <utility>

#include "engine/blocks/causal_loss.h"
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"

namespace trainmem::transformers {

namespace {

constexpr LayerType full = LayerType::full_attention;
constexpr LayerType sliding = LayerType::sliding_attention;

/// Query and key are cast for each of the two products.
Tensor turned(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Tensor straight = to(x, DType::float32) * cos;
  return std::move(straight) + rotate_half(to(x, DType::float32)) * sin;
}

class ModernBertBlock : public Block {
 public:
  ModernBertBlock(const Model& m, DType dtype, std::int64_t layer)
      : model_(m),
        window_(layer_type(m, layer) == sliding ? m.sliding_window : 0),
        attention_norm_(layer == 0 ? NormLayer() : block_norm(m, dtype)),
        query_(m.hidden_size, m.hidden_size, m.attention_bias, dtype, "query"),
        key_(m.hidden_size, m.hidden_size, m.attention_bias, dtype, "key"),
        value_(m.hidden_size, m.hidden_size, m.attention_bias, dtype, "value"),
        output_(m.hidden_size, m.hidden_size, m.attention_output_bias, dtype, "attention projection"),
        mlp_norm_(block_norm(m, dtype)),
        gate_up_(m.hidden_size, Size(2) * Size(m.intermediate_size), m.mlp_bias, dtype, "gate and up"),
        down_(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down") {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    if (attention_norm_.weight.defined()) hidden = attention_norm_.at("norm before attention", std::move(hidden));
    Tensor weights;  // of eager attention: held until the block returns
    const Tensor attended = attend(hidden, inputs, weights);
    hidden = residual + attended;
    residual = hidden;
    hidden = mlp_norm_.at("norm before MLP", std::move(hidden));
    const Tensor fed = mlp(hidden);
    return residual + fed;
  }

 private:
  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size a = model_.num_attention_heads;
    const Size d = model_.head_dim;
    Tensor q = split_heads(query_(hidden), a, d);
    Tensor k = split_heads(key_(hidden), a, d);
    const Tensor v = split_heads(value_(hidden), a, d);
    turn(q, k, unsqueeze(inputs.cos, 1), unsqueeze(inputs.sin, 1));
    const AttentionOptions options{.dropout = model_.attention_dropout, .window = window_};
    Tensor out = attention(q, k, v, inputs.mask, inputs.attention, options, weights);
    out = reshape(std::move(out), hidden.shape());
    return dropout(output_(std::move(out)), model_.attention_dropout);
  }

  static void turn(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) {
    const Tensor turned_q = turned(q, cos, sin);
    const Tensor turned_k = turned(k, cos, sin);
    Tensor cast_q = to(turned_q, q.dtype(), "query");
    k = to(turned_k, k.dtype(), "key");
    q = std::move(cast_q);
  }

  Tensor mlp(const Tensor& x) const {
    const Place place("mlp");
    const Size width = model_.intermediate_size;
    const std::vector<Tensor> parts = split(gate_up_(x), {width, width}, -1);
    Tensor product = activate(parts[0], model_.hidden_act) * parts[1];
    return down_(dropout(std::move(product), model_.hidden_dropout));
  }

  const Model& model_;
  std::int64_t window_;
  NormLayer attention_norm_;
  Linear query_, key_, value_, output_;
  NormLayer mlp_norm_;
  Linear gate_up_, down_;
};

class ModernBertDecoder : public Decoder {
 public:
  using Decoder::Decoder;

  void make_embedding() override {
    Decoder::make_embedding();
    embedding_norm_ = block_norm(model, weights);
  }

  std::unique_ptr<Block> make_block(std::int64_t layer) override {
    return std::make_unique<ModernBertBlock>(model, weights, layer);
  }

  void make_head() override {
    make_final_norm();
    if (has_layer_type(model, full)) rotary_ = std::make_unique<Rotary>(turning_width(model));
    if (has_layer_type(model, sliding)) sliding_rotary_ = std::make_unique<Rotary>(turning_width(model));
    const Place place("head");
    dense_ = Linear(model.hidden_size, model.hidden_size, false, weights, "head projection");
    head_norm_ = block_norm(model, weights);
    make_language_head();
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    const Place place("embedding");
    const Size batch = ids.size(0);
    const Size s = ids.size(1);
    state.hidden = dropout(embedding_norm_(embed(embedding_, ids)), model.embedding_dropout);
    const DType dtype = state.hidden.dtype();
    state.inputs.positions = state.sliding_inputs.positions = position_ids(s);
    state.inputs.attention = state.sliding_inputs.attention = attention;
    state.inputs.mask = causal_mask(batch, s, dtype, attention, false);
    if (needs_sliding_mask(model, s, attention))
      state.sliding_inputs.mask = causal_mask(batch, s, dtype, attention, true);
    if (rotary_) std::tie(state.inputs.cos, state.inputs.sin) = rotary_->tables(s, dtype, false, batch);
    if (sliding_rotary_)
      std::tie(state.sliding_inputs.cos, state.sliding_inputs.sin) = sliding_rotary_->tables(s, dtype, false, batch);
    state.held = {state.hidden};  // the arguments of the masks
    return state;
  }

  BlockInputs inputs_of(const ForwardState& state, std::int64_t layer) const override {
    return layer_type(model, layer) == sliding ? state.sliding_inputs : state.inputs;
  }

  Tensor head(Tensor hidden) override {
    Tensor predicted;
    {
      const Tensor given = std::move(hidden);
      predicted = head_norm_(gelu(dense_(given)));
    }
    return Decoder::head(std::move(predicted));
  }

  Tensor loss(Tensor logits, const Tensor& labels) override { return shifted_loss(logits, labels); }

 private:
  NormLayer embedding_norm_, head_norm_;
  Linear dense_;
  std::unique_ptr<Rotary> rotary_, sliding_rotary_;
};

}  // namespace

std::unique_ptr<Architecture> make_modernbert_decoder(const Model& model, DType weights) {
  return std::make_unique<ModernBertDecoder>(model, weights);
}

}  // namespace trainmem::transformers
