// RecurrentGemma (Griffin): two of three layers are a gated linear recurrence behind a convolution, the third attends
// to a window: models/recurrent_gemma/modeling_recurrent_gemma.py.
#include <tuple>
#include <utility>

#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/gated_recurrence.h"
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/tensor/convolution.h"

namespace trainmem::transformers {

namespace {

constexpr Rule scale_rule{"embedding scale", "a buffer that the embeddings are multiplied with",
                          "transformers models/recurrent_gemma/modeling_recurrent_gemma.py: normalizer"};

/// RecurrentGemmaAttention, which has rotary tables of its own.
class WindowAttention : public AttentionPart {
 public:
  WindowAttention(const Model& m, DType dtype)
      : model_(m),
        query_(m.hidden_size, m.num_attention_heads * m.head_dim, m.attention_bias, dtype, "query"),
        key_(m.hidden_size, m.num_key_value_heads * m.head_dim, m.attention_bias, dtype, "key"),
        value_(m.hidden_size, m.num_key_value_heads * m.head_dim, m.attention_bias, dtype, "value"),
        output_(m.num_attention_heads * m.head_dim, m.hidden_size, true, dtype, "attention projection"),
        rotary_(m.head_dim) {}

  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const override {
    const Place place("attention");
    const Size a = model_.num_attention_heads;
    const Size k = model_.num_key_value_heads;
    const Size d = model_.head_dim;
    Tensor query = split_heads(query_(hidden), a, d);
    Tensor key = split_heads(key_(hidden), k, d);
    const Tensor value = split_heads(value_(hidden), k, d);
    const auto [cos, sin] = rotary_.tables(hidden.size(1), value.dtype());
    apply_partial_rotary(query, key, cos, sin);
    const AttentionOptions options{.dropout = model_.attention_dropout, .window = model_.sliding_window};
    Tensor out = attention(query, key, value, inputs.mask, inputs.attention, options, weights);
    out = reshape(std::move(out), {hidden.size(0), hidden.size(1), a * d});
    return output_(std::move(out));
  }

 private:
  const Model& model_;
  Linear query_, key_, value_, output_;
  Rotary rotary_;
};

/// RecurrentGemmaRecurrentBlock.
class RecurrentPart : public AttentionPart {
 public:
  RecurrentPart(const Model& m, DType dtype)
      : activation_(m.hidden_act),
        gate_(m.hidden_size, m.hidden_size, true, dtype, "recurrence gate"),
        input_(m.hidden_size, m.hidden_size, true, dtype, "recurrence input"),
        output_(m.hidden_size, m.hidden_size, true, dtype, "recurrence projection"),
        convolution_(make_parameter({m.hidden_size, 1, m.conv_kernel_size}, dtype, "convolution weight")),
        convolution_bias_(make_parameter({m.hidden_size}, dtype, "convolution bias")),
        recurrence_(m, dtype) {}

  Tensor operator()(const Tensor& hidden, const BlockInputs&, Tensor&) const override {
    const Place place("recurrence");
    const Tensor gate = activate(gate_(hidden), activation_);
    Tensor x = transpose(input_(hidden), 1, 2);
    recurrence_.forget();
    x = slice(depthwise_conv1d(x, convolution_, convolution_bias_), 2, 0, hidden.size(1));
    x = recurrence_(transpose(std::move(x), 1, 2));
    Tensor product = x * gate;
    return output_(std::move(product));
  }

 private:
  Activation activation_;
  Linear gate_, input_, output_;
  Tensor convolution_, convolution_bias_;
  GatedRecurrence recurrence_;
};

class RecurrentGemmaBlock : public Block {
 public:
  RecurrentGemmaBlock(const Model& m, DType dtype, std::int64_t layer)
      : activation_(m.hidden_act),
        mixer_norm_(NormLayer::Form::gemma, {m.hidden_size}, true, false, dtype),
        mixer_(make_mixer(m, dtype, layer)),
        mlp_norm_(NormLayer::Form::gemma, {m.hidden_size}, true, false, dtype),
        gate_(m.hidden_size, m.intermediate_size, true, dtype, "gate"),
        up_(m.hidden_size, m.intermediate_size, true, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, true, dtype, "down") {}

  Tensor forward(Tensor given, const BlockInputs& inputs) override {
    const Tensor raw = std::move(given);
    const Tensor normed = mixer_norm_.at("norm before the mixer", raw);
    Tensor weights;  // of eager attention: held until the block returns
    Tensor hidden = (*mixer_)(normed, inputs, weights);
    const Tensor residual = hidden + raw;
    hidden = mlp_norm_.at("norm before MLP", residual);
    hidden = mlp(hidden);
    hidden = hidden + residual;
    return hidden;
  }

 private:
  static std::unique_ptr<AttentionPart> make_mixer(const Model& m, DType dtype, std::int64_t layer) {
    if (layer_type(m, layer) == LayerType::linear_attention) return std::make_unique<RecurrentPart>(m, dtype);
    return std::make_unique<WindowAttention>(m, dtype);
  }

  Tensor mlp(const Tensor& x) const {
    const Place place("mlp");
    const Tensor gate = activate(gate_(x), activation_);
    return down_(gate * up_(x));
  }

  Activation activation_;
  NormLayer mixer_norm_;
  std::unique_ptr<AttentionPart> mixer_;
  NormLayer mlp_norm_;
  Linear gate_, up_, down_;
};

class RecurrentGemma : public Decoder {
 public:
  using Decoder::Decoder;

  void make_embedding() override {
    Decoder::make_embedding();
    scale_ = model_buffer({}, DType::bfloat16, scale_rule);
  }

  std::unique_ptr<Block> make_block(std::int64_t layer) override {
    return std::make_unique<RecurrentGemmaBlock>(model, weights, layer);
  }

  void make_head() override {
    norm_ = NormLayer(NormLayer::Form::gemma, {model.hidden_size}, true, false, weights);
    make_language_head();
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    const Place place("embedding");
    const Size s = ids.size(1);
    const Tensor embedded = embed(embedding_, ids);
    state.inputs.positions = position_ids(s);
    state.inputs.attention = attention;
    if (needs_sliding_mask(model, s, attention))
      state.inputs.mask = causal_mask(ids.size(0), s, embedded.dtype(), attention, true);
    state.hidden = embedded * to(scale_, embedded.dtype());
    state.held = {embedded, state.inputs.positions};
    return state;
  }

  Tensor head(Tensor hidden) override {
    Tensor logits = Decoder::head(std::move(hidden));
    logits = multiply_number(tanh(multiply_number(logits)));
    return logits;
  }

 private:
  Tensor scale_;
};

}  // namespace

std::unique_ptr<Architecture> make_recurrent_gemma(const Model& model, DType weights) {
  return std::make_unique<RecurrentGemma>(model, weights);
}

}  // namespace trainmem::transformers
