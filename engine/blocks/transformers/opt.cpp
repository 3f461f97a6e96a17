// OPT: models/opt/modeling_opt.py. OPT-350M is post-norm and has an embedding narrower than its blocks.
#include "engine/blocks/transformers/bart_block.h"
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/padding.h"

namespace trainmem::transformers {

namespace {

constexpr Rule positions_rule{"positions", "positions: the gradient of the position table needs them",
                              "transformers models/opt/modeling_opt.py: OPTDecoder.forward"};

class OptBlock : public BartBlock {
 public:
  OptBlock(const Model& m, DType dtype) : BartBlock(m, dtype), norm_first_(m.norm_placement == NormPlacement::pre) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    const Shape shape = hidden.shape();
    if (norm_first_) hidden = attention_norm_.at("norm before attention", std::move(hidden));
    Tensor weights;  // of eager attention: held until the block returns
    hidden = attend(hidden, inputs, weights);
    hidden = dropout(std::move(hidden), model_.hidden_dropout);
    hidden = residual + std::move(hidden);
    if (!norm_first_) hidden = attention_norm_.at("norm after attention", std::move(hidden));

    hidden = reshape(std::move(hidden), {shape[0] * shape[1], shape[2]});
    residual = hidden;
    if (norm_first_) hidden = final_norm_.at("norm before MLP", std::move(hidden));
    {
      const Place place("mlp");
      hidden = up_(std::move(hidden));
      hidden = activate(std::move(hidden), model_.hidden_act);
      hidden = down_(std::move(hidden));
    }
    hidden = dropout(std::move(hidden), model_.hidden_dropout);
    hidden = view(residual + std::move(hidden), shape);
    if (!norm_first_) hidden = final_norm_.at("norm after MLP", std::move(hidden));
    return hidden;
  }

 private:
  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size a = model_.num_attention_heads;
    const Size d = model_.head_dim;
    const Tensor q = split_heads(multiply_number(query_(hidden), "query"), a, d);
    Tensor key = key_(hidden);
    Tensor value = value_(hidden);
    const Tensor k = split_heads(std::move(key), a, d);
    const Tensor v = split_heads(std::move(value), a, d);
    Tensor out = attention(q, k, v, inputs.mask, inputs.attention, {model_.attention_dropout}, weights);
    out = contiguous(reshape(std::move(out), hidden.shape()));
    return output_(std::move(out));
  }

  bool norm_first_;
};

class Opt : public Decoder {
 public:
  using Decoder::Decoder;

  void make_embedding() override {
    {
      const Place place("embedding");
      const Size width = model.word_embed_proj_dim > 0 ? Size(model.word_embed_proj_dim) : model.hidden_size;
      embedding_ = make_parameter({model.vocab_size, width}, weights, "token embedding");
      positions_ = make_parameter({model.learned_positions, model.hidden_size}, weights, "position embedding");
      if (model.word_embed_proj_dim > 0) {
        project_out_ = Linear(model.hidden_size, width, false, weights, "projection to the embedding's width");
        project_in_ = Linear(width, model.hidden_size, false, weights, "projection from the embedding's width");
      }
    }
    if (model.final_norm) make_final_norm();
  }

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<OptBlock>(model, weights); }

  void make_head() override { make_language_head(); }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    const Place place("embedding");
    Tensor embedded = input_embeddings(embedding_, ids);
    const Shape shape = ids.shape();
    const Tensor attended = attended_tokens(ids, positions_rule);
    state.inputs.attention = attention;
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), embedded.dtype(), attention, false);
    const DType counted = attended.dtype();
    Tensor where = allocate(shape, counted, {&positions_rule});  // cumulated
    {
      const Tensor kept = allocate(shape, counted, {&positions_rule});
      const Tensor less = allocate(shape, counted, {&positions_rule});
      where = counted == DType::int64 ? less : allocate(shape, DType::int64, {&positions_rule});
    }
    const Tensor at = embedding(positions_, allocate(shape, DType::int64, {&positions_rule, "positions"}));
    if (model.word_embed_proj_dim > 0) embedded = project_in_(std::move(embedded));
    state.hidden = embedded + at;
    state.inputs.positions = where;
    state.held = {embedded, attended, at};
    return state;
  }

  Tensor end(Tensor hidden) override {
    if (model.final_norm) hidden = Decoder::end(std::move(hidden));
    const Place place("final norm");
    return model.word_embed_proj_dim > 0 ? project_out_(std::move(hidden)) : hidden;
  }

 private:
  Tensor positions_;
  Linear project_out_, project_in_;
};

}  // namespace

std::unique_ptr<Architecture> make_opt(const Model& model, DType weights) {
  return std::make_unique<Opt>(model, weights);
}

}  // namespace trainmem::transformers
