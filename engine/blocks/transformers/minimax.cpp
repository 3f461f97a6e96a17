// The block of MiniMax-Text-01 and MiniMax-M1: residuals branch off after the norms, and of every eight layers seven
// have lightning attention, which goes through the sequence block by block: models/minimax/modeling_minimax.py.
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/llama_model.h"
#include "engine/blocks/transformers/padding.h"
#include "engine/parameters/parameters.h"

namespace trainmem::transformers {

namespace {

constexpr const char* source = "transformers models/minimax/modeling_minimax.py: MiniMaxLightningAttention";
constexpr Rule decay_rule{"decay", "a buffer: how scores fade with distance", source};
constexpr Rule state_rule{"state", "keys times values of the blocks so far, at first zeros", source};

Tensor make_buffer(const Shape& shape, DType dtype, const char* role) {
  return model_buffer(shape, dtype, decay_rule, role);
}

class LightningAttention : public AttentionPart {
 public:
  LightningAttention(const Model& m, DType dtype) : model_(m) {
    const Size a = m.num_attention_heads;
    const Size width = a * Size(m.head_dim);
    norm_ = NormLayer(NormLayer::Form::llama, {width}, true, false, dtype);
    together_ = Linear(m.hidden_size, Size(3) * width, false, dtype, "query, key and value");
    output_ = Linear(width, m.hidden_size, false, dtype, "attention projection");
    gate_ = Linear(m.hidden_size, width, false, dtype, "output gate");
    slope_ = make_buffer({a, 1, 1}, dtype, "slope");
    query_decay_ = make_buffer({a, lightning_block, 1}, dtype, "decay of queries");
    key_decay_ = make_buffer({a, lightning_block, 1}, dtype, "decay of keys");
    diagonal_decay_ = make_buffer({1, a, lightning_block, lightning_block}, dtype, "decay within a block");
  }

  /// `state` receives what the layer returns beside its result.
  Tensor operator()(const Tensor& hidden, const BlockInputs&, Tensor& state) const override {
    const Place place("attention");
    const Size b = hidden.size(0);
    const Size s = hidden.size(1);
    const Size a = model_.num_attention_heads;
    const Size d = model_.head_dim;
    Tensor together = without_padding(activate(together_(hidden), model_.hidden_act));
    together = reshape(together, {b, s, a, Size(3) * d});
    std::vector<Tensor> parts = split(together, {d, d, d}, 3);
    const Tensor q = transpose(std::move(parts[0]), 1, 2);
    const Tensor k = transpose(std::move(parts[1]), 1, 2);
    const Tensor v = transpose(std::move(parts[2]), 1, 2);
    parts.clear();
    state = allocate({b, a, d, d}, v.dtype(), {&state_rule, "state"});
    Tensor out = attended(q, k, v, state);
    out = transpose(std::move(out), 1, 2);
    out = reshape(std::move(out), {b, s, a * d});
    out = norm_(out);
    Tensor gate = sigmoid(gate_(hidden));
    out = std::move(gate) * out;
    return output_(std::move(out));
  }

 private:
  /// Block by block. The variables of Python's loop hold what they are given until they are given the next.
  Tensor attended(const Tensor& q, const Tensor& k, const Tensor& v, Tensor& state) const {
    const std::int64_t s = q.size(2);
    std::vector<Tensor> blocks;
    Tensor block_decay, scores, within, before, block, next;
    for (std::int64_t start = 0; start < s; start += lightning_block) {
      const std::int64_t length = minimum(lightning_block, s - start);
      const Tensor query = slice(q, 2, start, start + length);
      const Tensor key = slice(k, 2, start, start + length);
      const Tensor value = slice(v, 2, start, start + length);
      block_decay = allocate(slope_.shape(), slope_.dtype(), {&decay_rule, "decay over a block"});
      scores = matmul(query, transpose(key, 2, 3));
      const Tensor diagonal = slice(slice(diagonal_decay_, 2, 0, length), 3, 0, length);
      within = matmul(scores * diagonal, value);
      before = matmul(query * slice(query_decay_, 1, 0, length), state);
      block = before + within;
      blocks.push_back(block);
      const Tensor faded = key * slice(key_decay_, 1, lightning_block - length, lightning_block);
      next = matmul(transpose(faded, 2, 3), value);
      state = state * block_decay + next;
    }
    return concatenate(blocks, 2, "attention output");
  }

  const Model& model_;
  NormLayer norm_;
  Linear together_, output_, gate_;
  Tensor slope_, query_decay_, key_decay_, diagonal_decay_;
};

class MiniMaxBlock : public Block {
 public:
  MiniMaxBlock(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
      : attention_(make_attention_of(m, form, dtype, layer)),
        input_norm_(llama_norm_layer(m, form, dtype)),
        post_attention_norm_(llama_norm_layer(m, form, dtype)),
        mlp_(make_feed_forward(m, form, dtype, layer)) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    hidden = norm_at("norm before attention", input_norm_, hidden);
    Tensor residual = hidden;
    Tensor returned;  // eager attention's weights, or lightning attention's state: held until the block returns
    hidden = (*attention_)(hidden, inputs, returned);
    hidden = weighted_sum(residual, hidden);
    hidden = norm_at("norm before MLP", post_attention_norm_, hidden);
    residual = hidden;
    hidden = (*mlp_)(hidden);
    hidden = weighted_sum(residual, hidden);
    return hidden;
  }

 private:
  static std::unique_ptr<AttentionPart> make_attention_of(const Model& m, const LlamaForm& form, DType dtype,
                                                          std::int64_t layer) {
    if (layer_type(m, layer) == LayerType::linear_attention) return std::make_unique<LightningAttention>(m, dtype);
    return make_attention(m, form, dtype, layer);
  }

  static Tensor weighted_sum(const Tensor& residual, const Tensor& x) {
    const Tensor first = multiply_number(residual);
    const Tensor second = multiply_number(x);
    return first + second;
  }

  std::unique_ptr<AttentionPart> attention_;
  NormLayer input_norm_, post_attention_norm_;
  std::unique_ptr<FeedForwardPart> mlp_;
};

}  // namespace

std::unique_ptr<Block> make_minimax_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  return std::make_unique<MiniMaxBlock>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
