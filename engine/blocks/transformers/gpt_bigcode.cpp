// SantaCoder and StarCoder: models/gpt_bigcode/modeling_gpt_bigcode.py. GPT-2 with one key and value head for all.
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/gpt2_model.h"
#include "engine/blocks/transformers/gpt_block.h"

namespace trainmem::transformers {

namespace {

class GptBigcodeAttention {
 public:
  GptBigcodeAttention(const Model& m, DType dtype)
      : model_(m),
        query_key_value_(m.hidden_size, Size(m.hidden_size) + Size(2) * key_width(m), true, dtype,
                         "query, key and value"),
        projection_(m.hidden_size, m.hidden_size, true, dtype, "attention projection") {}

  static constexpr bool returned = false;  ///< transformers 5.16; a tuple before

  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    const Size a = model_.num_attention_heads;
    Tensor q, k, v;
    if (model_.num_key_value_heads == 1) {
      const std::vector<Tensor> parts = split(query_key_value_(hidden), {model_.hidden_size, d, d}, 2);
      k = unsqueeze(parts[1], 1);
      v = unsqueeze(parts[2], 1);
      q = split_heads(parts[0], a, d);
    } else {
      const std::vector<Tensor> parts = split(split_heads(query_key_value_(hidden), a, Size(3) * d), {d, d, d}, 3);
      q = parts[0];
      k = parts[1];
      v = parts[2];
    }
    Tensor out = attention(q, k, v, inputs.mask, inputs.attention, {model_.attention_dropout}, weights);
    out = projection_(reshape(std::move(out), hidden.shape()));
    return dropout(std::move(out), model_.hidden_dropout);
  }

 private:
  static Size key_width(const Model& m) { return Size(m.num_key_value_heads) * Size(m.head_dim); }

  const Model& model_;
  Linear query_key_value_, projection_;
};

class GptBigcode : public Gpt2Model {
 public:
  using Gpt2Model::Gpt2Model;
  void make_head() override {
    causal_ = make_causal_buffer(model);
    Gpt2Model::make_head();
  }

 private:
  Tensor causal_;  ///< which nothing uses
};

}  // namespace

std::unique_ptr<Architecture> make_gpt_bigcode(const Model& model, DType weights) {
  return std::make_unique<GptBigcode>(model, weights, [](const Model& m, DType dtype) -> std::unique_ptr<Block> {
    return std::make_unique<GptBlock<GptBigcodeAttention>>(m, dtype);
  });
}

}  // namespace trainmem::transformers
