// BioGPT: models/biogpt/modeling_biogpt.py.
#include "engine/blocks/transformers/bart_block.h"
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/padding.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr Rule positions_rule{"positions", "positions: the gradient of the position table needs them",
                              "transformers models/biogpt/modeling_biogpt.py: BioGptModel.forward"};

class BioGptBlock : public BartBlock {
 public:
  BioGptBlock(const Model& m, DType dtype) : BartBlock(m, dtype) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = attention_norm_.at("norm before attention", std::move(hidden));
    Tensor weights;  // of eager attention: held until the block returns
    hidden = attend(hidden, inputs, weights);
    hidden = dropout(std::move(hidden), model_.hidden_dropout);
    hidden = residual + std::move(hidden);

    residual = hidden;
    hidden = final_norm_.at("norm before MLP", std::move(hidden));
    {
      const Place place("mlp");
      hidden = up_(std::move(hidden));
      hidden = activate(std::move(hidden), model_.hidden_act);
      hidden = down_(std::move(hidden));
    }
    hidden = dropout(std::move(hidden), model_.hidden_dropout);
    return residual + std::move(hidden);
  }

 private:
  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size a = model_.num_attention_heads;
    const Size d = model_.head_dim;
    const Tensor q = split_heads(query_(hidden), a, d);
    Tensor key = key_(hidden);
    Tensor value = value_(hidden);
    const Tensor k = split_heads(std::move(key), a, d);
    const Tensor v = split_heads(std::move(value), a, d);
    const AttentionOptions options{.dropout = model_.attention_dropout, .plain_softmax = true};
    Tensor out = attention(q, k, v, inputs.mask, inputs.attention, options, weights);
    out = contiguous(reshape(std::move(out), hidden.shape()));
    return output_(std::move(out));
  }
};

class BioGpt : public Decoder {
 public:
  using Decoder::Decoder;

  void make_embedding() override {
    Decoder::make_embedding();
    const Place place("embedding");
    positions_ = make_parameter({model.learned_positions, model.hidden_size}, weights, "position embedding");
  }

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<BioGptBlock>(model, weights); }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    const Place place("embedding");
    Tensor embedded = multiply_number(trainmem::embedding(embedding_, ids), "scaled embedding");
    if (active_run().settings.inputs_want_gradient) embedded = require_gradient(std::move(embedded));
    const Tensor attended = attended_tokens(ids, positions_rule);
    state.inputs.attention = attention;
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), embedded.dtype(), attention, false);
    state.inputs.positions = position_ids(ids.size(1));
    const Tensor moved = allocate({1, ids.size(1)}, DType::int64, {&positions_rule, "positions"});
    const Tensor at = trainmem::embedding(positions_, moved);
    state.hidden = dropout(embedded + at, model.hidden_dropout);
    state.held = {embedded, attended, at};
    return state;
  }

 private:
  Tensor positions_;
};

}  // namespace

std::unique_ptr<Architecture> make_biogpt(const Model& model, DType weights) {
  return std::make_unique<BioGpt>(model, weights);
}

}  // namespace trainmem::transformers
