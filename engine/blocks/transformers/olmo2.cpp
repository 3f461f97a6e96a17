// The block of OLMo 2 and 3, FlexOlmo and EXAONE 4, with norms after attention and after the MLP: models/olmo2, olmo3,
// flex_olmo and exaone4, modeling_*.py.
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/llama_model.h"

namespace trainmem::transformers {

namespace {

class Olmo2Block : public Block {
 public:
  Olmo2Block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
      : attention_(m, form, dtype, layer),
        mlp_(make_feed_forward(m, form, dtype, layer)),
        after_attention_(llama_norm_layer(m, form, dtype)),
        after_mlp_(llama_norm_layer(m, form, dtype)) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    Tensor weights;
    hidden = attention_(hidden, inputs, weights);
    hidden = norm_at("norm after attention", after_attention_, hidden);
    hidden = residual + hidden;
    residual = hidden;
    hidden = (*mlp_)(hidden);
    hidden = norm_at("norm after MLP", after_mlp_, hidden);
    hidden = residual + hidden;
    return hidden;
  }

 private:
  SelfAttention attention_;
  std::unique_ptr<FeedForwardPart> mlp_;
  NormLayer after_attention_, after_mlp_;
};

}  // namespace

std::unique_ptr<Block> make_olmo2_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  return std::make_unique<Olmo2Block>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
