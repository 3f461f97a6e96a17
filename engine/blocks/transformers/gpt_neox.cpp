// GPT-NeoX and Pythia: models/gpt_neox/modeling_gpt_neox.py.
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"

namespace trainmem::transformers {

namespace {

class GptNeoxBlock : public Block {
 public:
  GptNeoxBlock(const Model& m, DType dtype)
      : model_(m),
        input_norm_(block_norm(m, dtype)),
        post_attention_norm_(block_norm(m, dtype)),
        query_key_value_(m.hidden_size, Size(3) * Size(m.hidden_size), m.attention_bias, dtype, "query, key and value"),
        dense_(m.hidden_size, m.hidden_size, m.attention_output_bias, dtype, "attention projection"),
        up_(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down") {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor weights;  // of eager attention: held until the block returns
    Tensor attended = attend(input_norm_.at("norm before attention", hidden), inputs, weights);
    attended = dropout(std::move(attended), model_.hidden_dropout);
    if (!model_.parallel_attention_mlp) {
      attended = attended + hidden;
      const Tensor fed = mlp(post_attention_norm_.at("norm before MLP", attended));
      return fed + attended;
    }
    const Tensor fed = mlp(post_attention_norm_.at("norm before MLP", hidden));
    return (fed + attended) + hidden;
  }

 private:
  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    const Tensor together = split_heads(query_key_value_(hidden), model_.num_attention_heads, Size(3) * d);
    std::vector<Tensor> parts = split(together, {d, d, d}, -1);
    Tensor q = std::move(parts[0]);
    Tensor k = std::move(parts[1]);
    const Tensor v = std::move(parts[2]);
    apply_partial_rotary(q, k, inputs.cos, inputs.sin);
    Tensor out = attention(q, k, v, inputs.mask, inputs.attention, {model_.attention_dropout}, weights);
    out = contiguous(reshape(std::move(out), hidden.shape()));
    return dense_(std::move(out));
  }

  Tensor mlp(const Tensor& x) const {
    Tensor hidden;
    {
      const Place place("mlp");
      hidden = up_(x);
      hidden = activate(std::move(hidden), model_.hidden_act);
      hidden = down_(std::move(hidden));
    }
    return dropout(std::move(hidden), model_.hidden_dropout);
  }

  const Model& model_;
  NormLayer input_norm_, post_attention_norm_;
  Linear query_key_value_, dense_, up_, down_;
};

class GptNeox : public Decoder {
 public:
  using Decoder::Decoder;

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<GptNeoxBlock>(model, weights); }

  void make_head() override {
    make_final_norm();
    rotary_ = std::make_unique<Rotary>(turning_width(model));
    make_language_head();
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    const Place place("embedding");
    const Tensor embedded = embed(embedding_, ids);
    state.inputs.positions = position_ids(ids.size(1));
    state.inputs.attention = attention;
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), embedded.dtype(), attention, false);
    state.hidden = dropout(embedded, model.embedding_dropout);
    std::tie(state.inputs.cos, state.inputs.sin) = rotary_->tables(ids.size(1), state.hidden.dtype());
    state.held = {embedded};
    return state;
  }

 private:
  std::unique_ptr<Rotary> rotary_;
};

}  // namespace

std::unique_ptr<Architecture> make_gpt_neox(const Model& model, DType weights) {
  return std::make_unique<GptNeox>(model, weights);
}

}  // namespace trainmem::transformers
