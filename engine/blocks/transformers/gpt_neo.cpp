// GPT-Neo: models/gpt_neo/modeling_gpt_neo.py. Its attention is eager, with scores in fp32; local and global layers
// differ in what their buffer masks.
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/gpt2_model.h"
#include "engine/blocks/transformers/gpt_block.h"

namespace trainmem::transformers {

namespace {

constexpr Rule lowest_rule{"mask value", "", "transformers models/gpt_neo/modeling_gpt_neo.py: GPTNeoSelfAttention"};

class GptNeoAttention {
 public:
  GptNeoAttention(const Model& m, DType dtype)
      : model_(m),
        causal_(make_causal_buffer(m)),
        key_(m.hidden_size, m.hidden_size, false, dtype, "key"),
        value_(m.hidden_size, m.hidden_size, false, dtype, "value"),
        query_(m.hidden_size, m.hidden_size, false, dtype, "query"),
        output_(m.hidden_size, m.hidden_size, true, dtype, "attention projection") {}

  static constexpr bool returned = true;

  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size a = model_.num_attention_heads;
    const Size d = model_.head_dim;
    Tensor query = query_(hidden);
    Tensor key = key_(hidden);
    Tensor value = value_(hidden);
    query = split_heads(std::move(query), a, d);
    key = split_heads(std::move(key), a, d);
    value = split_heads(std::move(value), a, d);
    Tensor out = eager(query, key, value, inputs.mask, weights);
    out = view(contiguous(transpose(std::move(out), 1, 2)), hidden.shape());
    out = output_(std::move(out));
    return dropout(std::move(out), model_.hidden_dropout);
  }

 private:
  /// GPTNeoSelfAttention._attn: scores and softmax in fp32.
  Tensor eager(const Tensor& given_query, const Tensor& given_key, const Tensor& value, const Tensor& mask,
               Tensor& weights) const {
    const Tensor query = to(given_query, DType::float32);
    const Tensor key = to(given_key, DType::float32);
    weights = matmul(query, transpose(key, -1, -2), "scores");
    const Tensor lowest = allocate({}, weights.dtype(), {&lowest_rule});
    weights = masked_fill(weights, causal_);
    weights = weights + mask;
    weights = softmax(weights);
    weights = to(weights, value.dtype());
    weights = dropout(weights, model_.attention_dropout);
    return matmul(weights, value, "attention output");
  }

  const Model& model_;
  Tensor causal_;
  Linear key_, value_, query_, output_;
};

class GptNeo : public Gpt2Model {
 public:
  using Gpt2Model::Gpt2Model;
  ForwardState begin(const Tensor& ids, AttentionKernel) override {
    return Gpt2Model::begin(ids, AttentionKernel::eager);
  }
};

}  // namespace

std::unique_ptr<Architecture> make_gpt_neo(const Model& model, DType weights) {
  return std::make_unique<GptNeo>(model, weights, [](const Model& m, DType dtype) -> std::unique_ptr<Block> {
    return std::make_unique<GptBlock<GptNeoAttention>>(m, dtype);
  });
}

}  // namespace trainmem::transformers
