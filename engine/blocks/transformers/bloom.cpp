// BLOOM: models/bloom/modeling_bloom.py. Its attention is eager only.
#include "engine/blocks/transformers/alibi.h"
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/padding.h"

namespace trainmem::transformers {

namespace {

constexpr Rule attended_rule{"padding mask", "", "transformers models/bloom/modeling_bloom.py: BloomModel.forward"};
constexpr Rule gelu_rule{"bloom gelu", "input of BLOOM's GELU: its backward computes the tanh again",
                         "transformers models/bloom/modeling_bloom.py: GeLUFunction"};

Tensor like(const Tensor& x) { return allocate_like(x, x.shape(), x.dtype(), {&gelu_rule}); }

/// tanh(0.79788456 * x * (1 + 0.044715 * x * x)), written out.
Tensor gelu_tanh(const Tensor& x) {
  Tensor scaled = like(x);
  Tensor inner = like(x);
  inner = like(x);
  inner = like(x);
  inner = like(x);  // times scaled
  scaled.reset();
  return like(x);
}

/// GeLUFunction: an autograd function of its own, without autograd inside.
Tensor bloom_gelu(const Tensor& x) {
  const Ref<Node> node = begin_node(gelu_rule, {&x});
  keep(node, x);
  Tensor result;
  {
    const Tensor half = like(x);
    Tensor one_more;
    {
      const Tensor tanh = gelu_tanh(x);
      one_more = like(x);
    }
    result = like(x);
  }
  if (node)
    node->backward = [](Backward& b) {
      // bloom_gelu_back, line by line.
      const Tensor input = b.kept(0);
      const Tensor tanh = gelu_tanh(input);
      Tensor slope;
      {
        Tensor left = like(input);  // 0.5 * x
        {
          Tensor rest;  // 1 - tanh * tanh
          {
            const Tensor squared = like(input);
            rest = like(input);
          }
          Tensor polynomial = like(input);
          polynomial = like(input);
          polynomial = like(input);
          rest = like(input);
          polynomial.reset();
          left = like(input);
        }
        Tensor right;  // 0.5 * (1 + tanh)
        {
          const Tensor one_more = like(input);
          right = like(input);
        }
        slope = like(input);
      }
      b.give(0, like(input));
    };
  finish_node(node, result);
  return result;
}

class BloomBlock : public Block {
 public:
  BloomBlock(const Model& m, DType dtype)
      : model_(m),
        input_norm_(block_norm(m, dtype)),
        query_key_value_(m.hidden_size, Size(3) * Size(m.hidden_size), m.attention_bias, dtype, "query, key and value"),
        dense_(m.hidden_size, m.hidden_size, m.attention_output_bias, dtype, "attention projection"),
        post_attention_norm_(block_norm(m, dtype)),
        up_(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down") {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor normed = input_norm_.at("norm before attention", hidden);
    Tensor weights;  // held until the block returns
    const Tensor attended = attend(normed, hidden, inputs, weights);
    normed = post_attention_norm_.at("norm before MLP", attended);
    Tensor result = mlp(normed, attended);
    returned_weights_ = std::move(weights);
    return result;
  }

 private:
  Tensor attend(const Tensor& hidden, const Tensor& residual, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size b = hidden.size(0);
    const Size s = hidden.size(1);
    const Size a = model_.num_attention_heads;
    const Size d = model_.head_dim;
    const Shape rows{b * a, s, d};
    const Tensor fused = query_key_value_(hidden);
    const Tensor parts = view(fused, {b, s, a, 3, d});
    const auto part = [&](std::int64_t i) { return transpose(select(parts, 3, i), 1, 2); };
    Tensor query = part(0);
    Tensor key = part(1);
    Tensor value = part(2);
    query = reshape(std::move(query), rows);
    key = transpose(reshape(std::move(key), rows), 1, 2);
    value = reshape(std::move(value), rows);
    const Tensor scores = baddbmm(inputs.alibi, query, key, "scores");
    Tensor masked = view(scores, {b, a, s, s});
    masked = masked + inputs.mask;
    weights = to(softmax(masked, DType::float32), query.dtype());
    weights = dropout(weights, model_.attention_dropout);
    const Tensor weight_rows = view(weights, {b * a, s, s});
    Tensor context = bmm(weight_rows, value, "attention output");
    context = reshape(transpose(view(std::move(context), {b, a, s, d}), 1, 2), hidden.shape());
    const Tensor out = dense_(context);
    return dropout_add(out, residual, model_.hidden_dropout);
  }

  Tensor mlp(const Tensor& x, const Tensor& residual) const {
    const Place place("mlp");
    const Tensor hidden = bloom_gelu(up_(x));
    const Tensor out = down_(hidden);
    return dropout_add(out, residual, model_.hidden_dropout);
  }

  const Model& model_;
  NormLayer input_norm_;
  Linear query_key_value_, dense_;
  NormLayer post_attention_norm_;
  Linear up_, down_;
};

class Bloom : public Decoder {
 public:
  using Decoder::Decoder;

  void make_embedding() override {
    Decoder::make_embedding();
    const Place place("embedding");
    if (model.embedding_norm) embedding_norm_ = block_norm(model, weights);
  }

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<BloomBlock>(model, weights); }

  ForwardState begin(const Tensor& ids, AttentionKernel) override {
    ForwardState state;
    const Place place("embedding");
    const Tensor embedded = embed(embedding_, ids);
    state.hidden = model.embedding_norm ? embedding_norm_(embedded) : embedded;
    const Tensor attended = attended_tokens(ids, attended_rule);
    state.inputs.alibi = bloom_alibi(attended, model.num_attention_heads, state.hidden.dtype());
    state.inputs.attention = AttentionKernel::eager;
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), embedded.dtype(), AttentionKernel::eager, false);
    state.held = {embedded, attended};
    return state;
  }

 private:
  NormLayer embedding_norm_;
};

}  // namespace

std::unique_ptr<Architecture> make_bloom(const Model& model, DType weights) {
  return std::make_unique<Bloom>(model, weights);
}

}  // namespace trainmem::transformers
