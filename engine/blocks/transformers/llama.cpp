// Llama and the families written like it: transformers models/llama, mistral, qwen2 and gemma, modeling_*.py.
#include "engine/blocks/transformers/families.h"

namespace trainmem::transformers {

namespace {

constexpr Rule scale_rule{"embedding scale", "a buffer that the embeddings are multiplied with",
                          "transformers models/gemma/modeling_gemma.py: GemmaTextScaledWordEmbedding"};

NormLayer::Form norm_form(const Model& m) {
  if (m.norm == Norm::layernorm) return NormLayer::Form::layer_norm;
  return m.model_type == "gemma" ? NormLayer::Form::gemma : NormLayer::Form::llama;
}

class LlamaBlock : public Block {
 public:
  LlamaBlock(const Model& m, DType dtype) : model_(m) {
    const Size h = m.hidden_size;
    const Size d = m.head_dim;
    const Size a = m.num_attention_heads;
    const Size k = m.num_key_value_heads;
    query_ = Linear(h, a * d, m.attention_bias, dtype, "query");
    key_ = Linear(h, k * d, m.attention_bias, dtype, "key");
    value_ = Linear(h, k * d, m.attention_bias, dtype, "value");
    output_ = Linear(a * d, h, m.attention_output_bias, dtype, "attention projection");
    gate_ = Linear(h, m.intermediate_size, m.mlp_bias, dtype, "gate");
    up_ = Linear(h, m.intermediate_size, m.mlp_bias, dtype, "up");
    down_ = Linear(m.intermediate_size, h, m.mlp_bias, dtype, "down");
    const NormLayer::Form form = norm_form(m);
    input_norm_ = NormLayer(form, {h}, m.norm_weight, m.norm_bias, dtype);
    post_attention_norm_ = NormLayer(form, {h}, m.norm_weight, m.norm_bias, dtype);
  }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    {
      const Place place("norm before attention");
      hidden = input_norm_(std::move(hidden));
    }
    Tensor weights;  // of eager attention: held until the block returns
    hidden = attend(std::move(hidden), inputs, weights);
    hidden = residual + std::move(hidden);
    residual = hidden;
    {
      const Place place("norm before MLP");
      hidden = post_attention_norm_(std::move(hidden));
    }
    hidden = mlp(std::move(hidden));
    return residual + std::move(hidden);
  }

 private:
  Tensor attend(Tensor hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    Tensor q = split_heads(query_(hidden), model_.num_attention_heads, d);
    Tensor k = split_heads(key_(hidden), model_.num_key_value_heads, d);
    Tensor v = split_heads(value_(hidden), model_.num_key_value_heads, d);
    apply_rotary(q, k, inputs.cos, inputs.sin);
    const Shape joined{hidden.size(0), hidden.size(1), Size(model_.num_attention_heads) * d};
    Tensor out = attention(q, k, v, inputs.mask, inputs.attention, {model_.attention_dropout}, weights);
    out = reshape(std::move(out), joined);
    return output_(std::move(out));
  }

  Tensor mlp(Tensor x) const {
    const Place place("mlp");
    Tensor gate = activate(gate_(x), model_.hidden_act);  // before up: the order of the nodes
    return down_(std::move(gate) * up_(x));
  }

  const Model& model_;
  Linear query_, key_, value_, output_, gate_, up_, down_;
  NormLayer input_norm_, post_attention_norm_;
};

class Llama : public Architecture {
 public:
  using Architecture::Architecture;

  void make_embedding() override {
    const Place place("embedding");
    embedding_ = make_parameter({model.vocab_size, model.hidden_size}, weights, "token embedding");
    if (model.model_type == "gemma") {
      const Set<Component> component(active_run().component, Component::weights);
      scale_ = allocate({}, weights, {&scale_rule});
      note_kept(scale_, scale_rule);
    }
  }

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<LlamaBlock>(model, weights); }

  void make_head() override {
    {
      const Place place("final norm");
      norm_ = NormLayer(norm_form(model), {model.hidden_size}, model.norm_weight, model.norm_bias, weights);
    }
    rotary_ = std::make_unique<Rotary>(Size(model.head_dim));
    const Place place("head");
    if (model.tie_word_embeddings) {
      head_.weight = embedding_;
      head_.role = "logits";
    } else {
      head_ = Linear(model.hidden_size, model.vocab_size, model.lm_head_bias, weights, "logits");
    }
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    {
      const Place place("embedding");
      state.hidden = embedding(embedding_, ids);
      if (scale_.defined()) state.hidden = std::move(state.hidden) * scale_;
    }
    state.inputs.positions = position_ids(ids.size(1));
    state.held = {state.hidden};
    state.inputs.attention = attention;
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), state.hidden.dtype(), attention, false);
    std::tie(state.inputs.cos, state.inputs.sin) = rotary_->tables(ids.size(1), state.hidden.dtype());
    return state;
  }

  Tensor end(Tensor hidden) override {
    const Place place("final norm");
    return norm_(std::move(hidden));
  }

  Tensor head(Tensor hidden) override { return head_(std::move(hidden)); }

 private:
  Tensor embedding_;
  Tensor scale_;
  NormLayer norm_;
  std::unique_ptr<Rotary> rotary_;
  Linear head_;
};

}  // namespace

std::unique_ptr<Architecture> make_llama(const Model& model, DType weights) {
  return std::make_unique<Llama>(model, weights);
}

}  // namespace trainmem::transformers
