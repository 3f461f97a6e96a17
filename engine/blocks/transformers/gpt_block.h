// What the blocks of GPT's kind share: GPTNeoMLP and its like, and GPTNeoBlock's and GPTBigCodeBlock's forward.
#pragma once

#include <utility>

#include "engine/blocks/transformers/decoder.h"

namespace trainmem::transformers {

/// Two linear layers, the activation between them, dropout behind them.
class GptMlp {
 public:
  GptMlp(const Model& m, bool bias, DType dtype)
      : model_(m),
        up_(m.hidden_size, m.intermediate_size, bias, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, bias, dtype, "down") {}

  Tensor operator()(const Tensor& x) const {
    const Place place("mlp");
    Tensor hidden = up_(x);
    hidden = activate(std::move(hidden), model_.hidden_act);
    hidden = down_(std::move(hidden));
    return dropout(std::move(hidden), model_.hidden_dropout);
  }

 private:
  const Model& model_;
  Linear up_, down_;
};

/// Norm, attention, sum; norm, MLP, sum. Attention: made from model and format, called with the normed input, the
/// block's inputs and a place for its weights, which the block holds, or returns if the attention's returned is true.
/// Members are registered in this order.
template <class Attention>
class GptBlock : public Block {
 public:
  GptBlock(const Model& m, DType dtype)
      : norm_1_(block_norm(m, dtype)), attention_(m, dtype), norm_2_(block_norm(m, dtype)), mlp_(m, true, dtype) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = norm_1_.at("norm before attention", std::move(hidden));
    Tensor weights;
    const Tensor attended = attention_(hidden, inputs, weights);
    hidden = attended + residual;
    residual = hidden;
    hidden = norm_2_.at("norm before MLP", std::move(hidden));
    const Tensor fed = mlp_(hidden);
    hidden = residual + fed;
    if (Attention::returned) returned_weights_ = std::move(weights);
    return hidden;
  }

 private:
  NormLayer norm_1_;
  Attention attention_;
  NormLayer norm_2_;
  GptMlp mlp_;
};

}  // namespace trainmem::transformers
