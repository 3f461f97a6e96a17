// The block of GPT-J and CodeGen: attention and MLP of one norm side by side, RoPE on neighbouring channels of a table
// that each block keeps, eager attention with scores in fp32.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/gpt_block.h"
#include "engine/blocks/transformers/neighbouring_channels.h"

namespace trainmem::transformers {

/// Query and key before RoPE, of (b, s, a, d), and the value of (b, a, s, d). `held`: what the forward's other names
/// hold until it returns.
struct ProjectedHeads {
  Tensor query, key, value;
  std::vector<Tensor> held{};
};

/// Projections: made from model and format; a call gives the heads of normed hidden states; rotary(sinusoids, s, dtype,
/// held) the sines and cosines of s positions, one beside the other; scaled(scores, mask) the scores as softmax takes
/// them; `table` the row of the sinusoids.
template <class Projections>
class GptjBlock : public Block {
 public:
  GptjBlock(const Model& m, DType dtype)
      : model_(m),
        norm_(block_norm(m, dtype)),
        projections_(m, dtype),
        output_(m.hidden_size, m.hidden_size, m.attention_output_bias, dtype, "attention projection"),
        mlp_(m, m.mlp_bias, dtype) {
    sinusoids_ =
        model_buffer({m.max_position_embeddings, turning_width(m)}, DType::float32, Projections::table, "sinusoids");
  }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    const Tensor residual = hidden;
    hidden = norm_.at("norm before attention", std::move(hidden));
    Tensor weights;  // held until the block returns
    const Tensor attended = attend(hidden, inputs, weights);
    const Tensor fed = mlp_(hidden);
    Tensor result = (attended + fed) + residual;
    returned_weights_ = std::move(weights);
    return result;
  }

 private:
  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    ProjectedHeads heads = projections_(hidden);
    Tensor& query = heads.query;
    Tensor& key = heads.key;

    const Size turning = sinusoids_.size(1);
    const Tensor both = Projections::rotary(sinusoids_, hidden.size(1), key.dtype(), heads.held);
    const Tensor sin = slice(both, -1, 0, turning / 2);
    const Tensor cos = slice(both, -1, turning / 2, turning);
    Tensor k_turning = slice(key, -1, 0, turning);
    const Tensor k_rest = slice(key, -1, turning, d);
    Tensor q_turning = slice(query, -1, 0, turning);
    const Tensor q_rest = slice(query, -1, turning, d);
    k_turning = turn_neighbours(k_turning, sin, cos);
    q_turning = turn_neighbours(q_turning, sin, cos);
    key = concatenate({k_turning, k_rest}, -1, "key");
    query = concatenate({q_turning, q_rest}, -1, "query");
    key = transpose(std::move(key), 1, 2);
    query = transpose(std::move(query), 1, 2);

    Tensor out = eager(query, key, heads.value, inputs.mask, weights);
    out = view(contiguous(transpose(std::move(out), 1, 2)), hidden.shape());
    out = output_(std::move(out));
    return dropout(std::move(out), model_.hidden_dropout);
  }

  /// GPTJAttention._attn, CodeGenAttention._attn: scores and softmax in fp32.
  Tensor eager(const Tensor& given_query, const Tensor& given_key, const Tensor& value, const Tensor& mask,
               Tensor& weights) const {
    const Tensor query = to(given_query, DType::float32);
    const Tensor key = to(given_key, DType::float32);
    weights = matmul(query, transpose(key, -1, -2), "scores");
    weights = Projections::scaled(std::move(weights), mask);
    weights = softmax(weights);
    weights = to(weights, value.dtype());
    weights = dropout(weights, model_.attention_dropout);
    return matmul(weights, value, "attention output");
  }

  const Model& model_;
  NormLayer norm_;
  Projections projections_;
  Linear output_;
  GptMlp mlp_;
  Tensor sinusoids_;
};

template <class Projections>
class GptjDecoder : public Decoder {
 public:
  using Decoder::Decoder;

  std::unique_ptr<Block> make_block(std::int64_t) override {
    return std::make_unique<GptjBlock<Projections>>(model, weights);
  }

  ForwardState begin(const Tensor& ids, AttentionKernel) override {
    ForwardState state;
    const Place place("embedding");
    const Tensor embedded = embed(embedding_, ids);
    state.inputs.positions = position_ids(ids.size(1));
    state.inputs.attention = AttentionKernel::eager;
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), embedded.dtype(), AttentionKernel::eager, false);
    state.hidden = dropout(embedded, model.embedding_dropout);
    state.held = {embedded};
    return state;
  }
};

}  // namespace trainmem::transformers
