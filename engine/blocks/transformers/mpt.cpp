// MPT: models/mpt/modeling_mpt.py. Its attention is eager only; ALiBi in fp32 makes the scores fp32.
#include "engine/blocks/transformers/alibi.h"
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/padding.h"

namespace trainmem::transformers {

namespace {

constexpr Rule mask_rule{"causal mask", "boolean mask: the gradient of the masked scores needs it",
                         "transformers models/mpt/modeling_mpt.py: MptModel.forward"};

class MptBlock : public Block {
 public:
  MptBlock(const Model& m, DType dtype)
      : model_(m),
        norm_1_(block_norm(m, dtype)),
        query_key_value_(m.hidden_size, Size(3) * Size(m.hidden_size), m.attention_bias, dtype, "query, key and value"),
        output_(m.hidden_size, m.hidden_size, m.attention_output_bias, dtype, "attention projection"),
        norm_2_(block_norm(m, dtype)),
        up_(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down") {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor normed = norm_1_.at("norm before attention", hidden);
    Tensor residual = hidden;
    Tensor weights;  // held until the block returns
    const Tensor attended = attend(normed, inputs, weights);
    hidden = dropout(attended, model_.hidden_dropout) + residual;
    normed = norm_2_.at("norm before MLP", hidden);
    residual = hidden;
    Tensor result = mlp(normed, residual);
    returned_weights_ = std::move(weights);
    return result;
  }

 private:
  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size h = model_.hidden_size;
    const Size a = model_.num_attention_heads;
    const Size d = model_.head_dim;
    const Size s = hidden.size(1);
    Tensor mixed = query_key_value_(hidden);
    if (model_.clip_qkv > 0) mixed = clamp(mixed);
    const std::vector<Tensor> parts = split(mixed, {h, h, h}, 2);
    const Tensor query = split_heads(parts[0], a, d);
    const Tensor key = split_heads(parts[1], a, d);
    const Tensor value = split_heads(parts[2], a, d);
    Tensor scores = multiply_number(matmul(query, transpose(key, -1, -2), "scores"));
    const Size positions = inputs.alibi.size(2);
    const Tensor bias = positions > s ? slice(inputs.alibi, 2, positions - s, positions) : inputs.alibi;
    scores = scores + bias;
    scores = masked_fill(scores, inputs.mask);
    // The scores stay a local variable beside the weights.
    weights = to(softmax(to(scores, DType::float32)), value.dtype());
    weights = dropout(weights, model_.attention_dropout);
    Tensor context = matmul(weights, value, "attention output");
    context = view(contiguous(transpose(std::move(context), 1, 2)), hidden.shape());
    return output_(context);
  }

  Tensor mlp(const Tensor& x, const Tensor& residual) const {
    const Place place("mlp");
    const Tensor hidden = activate(up_(x), model_.hidden_act);
    const Tensor fed = down_(hidden);
    Tensor out = dropout(fed, model_.hidden_dropout);
    out = out + residual;
    return out;
  }

  const Model& model_;
  NormLayer norm_1_;
  Linear query_key_value_, output_;
  NormLayer norm_2_;
  Linear up_, down_;
};

class Mpt : public Decoder {
 public:
  using Decoder::Decoder;

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<MptBlock>(model, weights); }

  ForwardState begin(const Tensor& ids, AttentionKernel) override {
    ForwardState state;
    const Place place("embedding");
    const Tensor embedded = embed(embedding_, ids);
    const Tensor attended = attended_tokens(ids, mask_rule);
    state.inputs.alibi = mpt_alibi(model.num_attention_heads, model.max_position_embeddings);
    state.inputs.attention = AttentionKernel::eager;
    Tensor mask = causal_mask(ids.size(0), ids.size(1), embedded.dtype(), AttentionKernel::eager, false);
    state.inputs.mask = allocate(mask.shape(), DType::boolean, {&mask_rule, "causal mask"});
    state.hidden = embedded;
    state.held = {embedded, attended};
    return state;
  }
};

}  // namespace

std::unique_ptr<Architecture> make_mpt(const Model& model, DType weights) {
  return std::make_unique<Mpt>(model, weights);
}

}  // namespace trainmem::transformers
