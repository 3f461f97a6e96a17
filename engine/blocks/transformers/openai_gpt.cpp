// The first GPT: models/openai/modeling_openai.py. Norms stand on sums, there is none at the end, and attention is
// eager.
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"

namespace trainmem::transformers {

namespace {

constexpr Rule buffer_rule{"causal buffer", "a buffer: which positions see which",
                           "transformers models/openai/modeling_openai.py: Attention"};
constexpr Rule mask_rule{"causal mask", "", "transformers models/openai/modeling_openai.py: Attention._attn"};

class OpenAiGptBlock : public Block {
 public:
  OpenAiGptBlock(const Model& m, DType dtype)
      : model_(m),
        seen_(model_buffer({1, 1, m.learned_positions, m.learned_positions}, dtype, buffer_rule, "causal buffer")),
        query_key_value_(m.hidden_size, Size(3) * Size(m.hidden_size), dtype, "query, key and value"),
        projection_(m.hidden_size, m.hidden_size, dtype, "attention projection"),
        attention_norm_(block_norm(m, dtype)),
        up_(m.hidden_size, m.intermediate_size, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, dtype, "down"),
        mlp_norm_(block_norm(m, dtype)) {}

  Tensor forward(Tensor given, const BlockInputs&) override {
    const Tensor x = std::move(given);
    const Tensor attended = attend(x);
    const Tensor normed = attention_norm_.at("norm after attention", x + attended);
    const Tensor fed = mlp(normed);
    return mlp_norm_.at("norm after MLP", normed + fed);
  }

 private:
  Tensor attend(const Tensor& hidden) const {
    const Place place("attention");
    const Size h = model_.hidden_size;
    const Size d = model_.head_dim;
    const Size a = model_.num_attention_heads;
    const Tensor together = query_key_value_(hidden);
    const std::vector<Tensor> parts = split(together, {h, h, h}, 2);
    const Tensor q = split_heads(parts[0], a, d);
    const Tensor k = transpose(split_heads(parts[1], a, d), -1, -2);
    const Tensor v = split_heads(parts[2], a, d);
    const Tensor weighted = weigh(q, k, v);
    Tensor out = reshape(contiguous(transpose(weighted, 1, 2)), hidden.shape());
    out = projection_(std::move(out));
    return dropout(std::move(out), model_.hidden_dropout);
  }

  /// w * b + -1e4 * (1 - b) in place of a mask that is added.
  Tensor weigh(const Tensor& q, const Tensor& k, const Tensor& v) const {
    Tensor scores = matmul(q, k);
    scores = multiply_number(scores);
    const Size s = q.size(2);
    const Tensor seen = slice(slice(seen_, 2, 0, s), 3, 0, s);
    {
      Tensor kept = scores * seen;
      Tensor lowest = allocate(seen.shape(), seen.dtype(), {&mask_rule});
      lowest = allocate(seen.shape(), seen.dtype(), {&mask_rule});
      scores = std::move(kept) + std::move(lowest);
    }
    scores = softmax(scores);
    scores = dropout(scores, model_.attention_dropout);
    return matmul(scores, v);
  }

  Tensor mlp(const Tensor& x) const {
    const Place place("mlp");
    const Tensor hidden = activate(up_(x), model_.hidden_act);
    const Tensor out = down_(hidden);
    return dropout(out, model_.hidden_dropout);
  }

  const Model& model_;
  Tensor seen_;
  Conv1D query_key_value_, projection_;
  NormLayer attention_norm_;
  Conv1D up_, down_;
  NormLayer mlp_norm_;
};

class OpenAiGpt : public Decoder {
 public:
  using Decoder::Decoder;

  void make_embedding() override {
    Decoder::make_embedding();
    const Place place("embedding");
    positions_ = make_parameter({model.learned_positions, model.hidden_size}, weights, "position embedding");
  }

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<OpenAiGptBlock>(model, weights); }

  void make_head() override {
    numbers_ = model_buffer({model.learned_positions}, DType::int64, buffer_rule, "positions");
    make_language_head();
  }

  ForwardState begin(const Tensor& ids, AttentionKernel) override {
    ForwardState state;
    const Place place("embedding");
    state.inputs.attention = AttentionKernel::eager;
    const Tensor embedded = input_embeddings(embedding_, ids);
    const Tensor where = alias(numbers_, {1, ids.size(1)}, {Size(1), Size(1)});
    const Tensor at = embedding(positions_, where);
    state.hidden = add_number(embedded + at);
    state.held = {embedded, at};
    state.hidden = dropout(std::move(state.hidden), model.embedding_dropout);
    return state;
  }

  Tensor end(Tensor hidden) override { return hidden; }

 private:
  Tensor positions_, numbers_;
};

}  // namespace

std::unique_ptr<Architecture> make_openai_gpt(const Model& model, DType weights) {
  return std::make_unique<OpenAiGpt>(model, weights);
}

}  // namespace trainmem::transformers
