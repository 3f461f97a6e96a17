// The block of Falcon-H1: Mamba and attention read the same normalised states beside each other, and numbers multiply
// what goes in and out: models/falcon_h1/modeling_falcon_h1.py, FalconH1DecoderLayer.
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/llama_model.h"
#include "engine/blocks/transformers/mamba.h"

namespace trainmem::transformers {

namespace {

/// FalconH1MLP.
class ScaledMlp {
 public:
  ScaledMlp(const Model& m, DType dtype)
      : activation_(m.hidden_act),
        gate_(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "gate"),
        up_(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down") {}

  Tensor operator()(const Tensor& x) const {
    const Place place("mlp");
    Tensor up = up_(x);
    Tensor gate = activate(multiply_number(gate_(x)), activation_);
    const Tensor product = std::move(up) * std::move(gate);
    return multiply_number(down_(product));
  }

 private:
  Activation activation_;
  Linear gate_, up_, down_;
};

class FalconH1Block : public Block {
 public:
  FalconH1Block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
      : mlp_(m, dtype),
        mamba_(make_mamba(m, dtype)),
        attention_(m, form, dtype, layer),
        input_norm_(llama_norm_layer(m, form, dtype)),
        mlp_norm_(llama_norm_layer(m, form, dtype)) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = norm_at("norm before attention", input_norm_, hidden);
    Tensor weights;
    // Both branches are local variables of the forward until it returns.
    const Tensor of_mamba = multiply_number((*mamba_)(hidden, inputs, weights));
    const Tensor of_attention = multiply_number(attention_(multiply_number(hidden), inputs, weights));
    hidden = of_mamba + of_attention;
    hidden = residual + hidden;
    residual = hidden;
    hidden = norm_at("norm before MLP", mlp_norm_, hidden);
    hidden = mlp_(hidden);
    hidden = residual + hidden;
    return hidden;
  }

 private:
  ScaledMlp mlp_;
  std::unique_ptr<AttentionPart> mamba_;
  SelfAttention attention_;
  NormLayer input_norm_, mlp_norm_;
};

}  // namespace

std::unique_ptr<Block> make_falcon_h1_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  return std::make_unique<FalconH1Block>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
