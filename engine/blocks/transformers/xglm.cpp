// XGLM: models/xglm/modeling_xglm.py. Its attention is eager, whatever is asked for.
#include "engine/blocks/transformers/bart_block.h"
#include "engine/blocks/transformers/families.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/maximum.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr Rule table_rule{"sinusoids", "sines and cosines of every position: a buffer",
                          "transformers models/xglm/modeling_xglm.py: XGLMSinusoidalPositionalEmbedding"};

class XglmBlock : public BartBlock {
 public:
  XglmBlock(const Model& m, DType dtype) : BartBlock(m, dtype) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = attention_norm_.at("norm before attention", std::move(hidden));
    Tensor weights;  // held until the block returns
    hidden = attend(hidden, inputs.mask, weights);
    hidden = dropout(std::move(hidden), model_.hidden_dropout);
    hidden = residual + std::move(hidden);

    residual = hidden;
    hidden = final_norm_.at("norm before MLP", std::move(hidden));
    {
      const Place place("mlp");
      hidden = activate(up_(hidden), model_.hidden_act);
      hidden = down_(std::move(hidden));
    }
    hidden = dropout(std::move(hidden), model_.hidden_dropout);
    return residual + std::move(hidden);
  }

 private:
  /// (b, heads, s, d) as (b * heads, s, d).
  static Tensor joined(Tensor heads) {
    const Shape shape{heads.size(0) * heads.size(1), heads.size(2), heads.size(3)};
    return reshape(std::move(heads), shape);
  }

  Tensor attend(const Tensor& hidden, const Tensor& mask, Tensor& weights) const {
    const Place place("attention");
    const Size a = model_.num_attention_heads;
    const Size d = model_.head_dim;
    Tensor q = multiply_number(query_(hidden), "query");
    Tensor k = key_(hidden);
    Tensor v = value_(hidden);
    k = split_heads(std::move(k), a, d);
    v = split_heads(std::move(v), a, d);
    q = joined(split_heads(std::move(q), a, d));
    k = joined(std::move(k));
    v = joined(std::move(v));
    Tensor scores = bmm(q, transpose(k, 1, 2));
    const Shape together = scores.shape();
    const Shape apart{hidden.size(0), a, together[1], together[2]};
    scores = view(std::move(scores), apart) + mask;
    scores = at_least(std::move(scores));
    scores = view(std::move(scores), together);
    if (scores.dtype() == DType::float16)
      scores = to(softmax(scores, DType::float32), DType::float16);
    else
      scores = softmax(std::move(scores));
    weights = view(std::move(scores), apart);
    scores = view(weights, together);
    const Tensor chances = dropout(scores, model_.attention_dropout);
    Tensor out = bmm(chances, v);
    out = transpose(view(std::move(out), {apart[0], a, together[1], d}), 1, 2);
    out = reshape(std::move(out), hidden.shape());
    return output_(std::move(out));
  }
};

class Xglm : public Decoder {
 public:
  using Decoder::Decoder;

  void make_embedding() override {
    Decoder::make_embedding();
    table_ = model_buffer({model.max_position_embeddings + 2, model.hidden_size}, weights, table_rule, "sinusoids");
  }

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<XglmBlock>(model, weights); }

  ForwardState begin(const Tensor& ids, AttentionKernel) override {
    ForwardState state;
    const Place place("embedding");
    const Size s = ids.size(1);
    Tensor embedded = multiply_number(embedding(embedding_, ids), "scaled embedding");
    if (active_run().settings.inputs_want_gradient) embedded = require_gradient(std::move(embedded));
    state.inputs.attention = AttentionKernel::eager;  // the only one that the class has
    state.inputs.mask = causal_mask(ids.size(0), s, embedded.dtype(), state.inputs.attention, false);
    const Tensor at = allocate({s}, DType::int64, {&table_rule, "positions"});
    Tensor sinusoids;
    {
      const Tensor moved = allocate({1, s}, DType::int64, {&table_rule, "positions"});
      sinusoids = allocate({1, s, model.hidden_size}, table_.dtype(), {&table_rule, "sinusoids of the positions"});
    }
    Tensor sum = embedded + sinusoids;
    sinusoids.reset();
    state.hidden = dropout(std::move(sum), model.hidden_dropout);
    state.held = {embedded, at};
    return state;
  }

 private:
  Tensor table_;
};

}  // namespace

std::unique_ptr<Architecture> make_xglm(const Model& model, DType weights) {
  return std::make_unique<Xglm>(model, weights);
}

}  // namespace trainmem::transformers
