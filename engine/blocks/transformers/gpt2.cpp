// GPT-2: models/gpt2/modeling_gpt2.py.
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/gpt2_model.h"

namespace trainmem::transformers {

namespace {

class Gpt2Block : public Block {
 public:
  Gpt2Block(const Model& m, DType dtype)
      : model_(m),
        norm_1_(NormLayer::Form::layer_norm, {m.hidden_size}, true, true, dtype),
        query_key_value_(m.hidden_size, Size(3) * Size(m.hidden_size), dtype, "query, key and value"),
        projection_(m.hidden_size, m.hidden_size, dtype, "attention projection"),
        norm_2_(NormLayer::Form::layer_norm, {m.hidden_size}, true, true, dtype),
        up_(m.hidden_size, m.intermediate_size, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, dtype, "down") {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = norm_1_.at("norm before attention", std::move(hidden));
    Tensor weights;
    Tensor attended = attend(hidden, inputs, weights);
    if (compiled()) {
      hidden = compiled_residual_sum(std::move(residual), std::move(attended), model_.hidden_dropout, false);
    } else {
      hidden = attended + residual;
    }
    residual = hidden;
    hidden = norm_2_.at("norm before MLP", std::move(hidden));
    Tensor fed = mlp(hidden);
    if (compiled()) return compiled_residual_sum(std::move(residual), std::move(fed), model_.hidden_dropout, true);
    return residual + fed;
  }

 private:
  static bool compiled() { return active_run().compiled_region != 0; }

  /// resid_dropout. A compiled block drops where it adds.
  Tensor drop(Tensor x) const { return compiled() ? x : dropout(std::move(x), model_.hidden_dropout); }

  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size h = model_.hidden_size;
    const Size d = model_.head_dim;
    const Size a = model_.num_attention_heads;
    std::vector<Tensor> parts = split(query_key_value_(hidden), {h, h, h}, 2);
    const Tensor k = split_heads(std::move(parts[1]), a, d);
    const Tensor v = split_heads(std::move(parts[2]), a, d);
    const Tensor q = split_heads(std::move(parts[0]), a, d);
    Tensor out;
    if (inputs.attention == AttentionKernel::eager) {
      // eager_attention_forward of GPT-2: softmax in the scores' own format.
      weights = multiply_number(matmul(q, transpose(k, -1, -2)));
      if (inputs.mask.defined()) weights = weights + inputs.mask;
      weights = to(softmax(std::move(weights)), v.dtype());
      weights = dropout(std::move(weights), model_.attention_dropout);
      out = transpose(matmul(weights, v), 1, 2);
    } else {
      out = attention(q, k, v, inputs.mask, inputs.attention, {model_.attention_dropout}, weights);
    }
    out = contiguous(reshape(std::move(out), hidden.shape()));
    out = projection_(std::move(out));
    return drop(std::move(out));
  }

  Tensor mlp(Tensor x) const {
    const Place place("mlp");
    Tensor hidden = up_(std::move(x));
    hidden = activate(std::move(hidden), model_.hidden_act);
    hidden = down_(std::move(hidden));
    return drop(std::move(hidden));
  }

  const Model& model_;
  NormLayer norm_1_;
  Conv1D query_key_value_, projection_;
  NormLayer norm_2_;
  Conv1D up_, down_;
};

}  // namespace

std::unique_ptr<Architecture> make_gpt2(const Model& model, DType weights) {
  return std::make_unique<Gpt2Model>(model, weights, [](const Model& m, DType dtype) -> std::unique_ptr<Block> {
    return std::make_unique<Gpt2Block>(m, dtype);
  });
}

}  // namespace trainmem::transformers
