// CodeGen: models/codegen/modeling_codegen.py. GPT-J with one projection, its heads in four groups, each of which has
// its query, value and key beside each other; attention is eager only.
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/gpt_block.h"
#include "engine/blocks/transformers/neighbouring_channels.h"

namespace trainmem::transformers {

namespace {

constexpr Rule positions_rule{"sinusoids", "sines and cosines of every position: a buffer of each block",
                              "transformers models/codegen/modeling_codegen.py: create_sinusoidal_positions"};
constexpr std::int64_t groups = 4;  // mp_num

class CodegenBlock : public Block {
 public:
  CodegenBlock(const Model& m, DType dtype)
      : model_(m),
        norm_(block_norm(m, dtype)),
        together_(m.hidden_size, Size(3) * m.hidden_size, false, dtype, "query, key and value"),
        output_(m.hidden_size, m.hidden_size, false, dtype, "attention projection"),
        mlp_(m, m.mlp_bias, dtype) {
    const Set<Component> component(active_run().component, Component::weights);
    sinusoids_ =
        allocate({m.max_position_embeddings, turning_width(m)}, DType::float32, {&positions_rule, "sinusoids"});
    note_kept(sinusoids_, positions_rule);
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
    const Size b = hidden.size(0);
    const Size s = hidden.size(1);
    const Size d = model_.head_dim;
    const Size in_group = Size(model_.num_attention_heads) / groups;
    const Tensor together = together_(hidden);
    const Size width = model_.hidden_size / groups;
    const std::vector<Tensor> parts = split(view(together, {b, s, groups, Size(3) * width}), {width, width, width}, 3);
    const auto heads = [&](const Tensor& part) {
      return reshape(view(part, {b, s, groups, in_group, d}), {b, s, Size(groups) * in_group, d});
    };
    Tensor query = heads(parts[0]);
    Tensor key = heads(parts[2]);
    const Tensor value = transpose(heads(parts[1]), 1, 2);

    const Size turning = sinusoids_.size(1);
    const Tensor both = allocate({1, s, turning}, DType::float32, {&positions_rule});
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

    Tensor out = eager(query, key, value, inputs.mask, weights);
    out = view(contiguous(transpose(std::move(out), 1, 2)), hidden.shape());
    out = output_(std::move(out));
    return dropout(std::move(out), model_.hidden_dropout);
  }

  /// CodeGenAttention._attn: scores and softmax in fp32, the mask before the scale.
  Tensor eager(const Tensor& given_query, const Tensor& given_key, const Tensor& value, const Tensor& mask,
               Tensor& weights) const {
    const Tensor query = to(given_query, DType::float32);
    const Tensor key = to(given_key, DType::float32);
    weights = matmul(query, transpose(key, -1, -2), "scores");
    weights = weights + mask;
    weights = multiply_number(std::move(weights));
    weights = softmax(weights);
    weights = to(weights, value.dtype());
    weights = dropout(weights, model_.attention_dropout);
    return matmul(weights, value, "attention output");
  }

  const Model& model_;
  NormLayer norm_;
  Linear together_, output_;
  GptMlp mlp_;
  Tensor sinusoids_;
};

class Codegen : public Decoder {
 public:
  using Decoder::Decoder;

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<CodegenBlock>(model, weights); }

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

}  // namespace

std::unique_ptr<Architecture> make_codegen(const Model& model, DType weights) {
  return std::make_unique<Codegen>(model, weights);
}

}  // namespace trainmem::transformers
