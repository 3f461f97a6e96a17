// The block of Gemma 2 and 3, GLM-4 (0414), GLM-4.1V, Trinity and HyperCLOVA X, with norms before and after attention
// and MLP: models/gemma2, gemma3, glm4, glm4v, glm_ocr, afmoe and hyperclovax, modeling_*.py.
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/llama_model.h"
#include "engine/parameters/layout.h"

namespace trainmem::transformers {

namespace {

class Gemma2Block : public Block {
 public:
  Gemma2Block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
      : form_(form), attention_(m, form, dtype, layer) {
    const bool norms_first = parameter_layout(m.model_type).norms == NormRegistration::between;
    if (!norms_first) mlp_ = make_feed_forward(m, form, dtype, layer);
    for (NormLayer* norm : {&before_attention_, &after_attention_, &before_mlp_, &after_mlp_})
      *norm = llama_norm_layer(m, form, dtype);
    if (norms_first) mlp_ = make_feed_forward(m, form, dtype, layer);
  }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = norm_at("norm before attention", before_attention_, hidden);
    Tensor weights;
    hidden = attention_(hidden, inputs, weights);
    hidden = norm_at("norm after attention", after_attention_, hidden);
    hidden = add_to(residual, hidden);
    residual = hidden;
    hidden = norm_at("norm before MLP", before_mlp_, hidden);
    hidden = (*mlp_)(hidden);
    hidden = norm_at("norm after MLP", after_mlp_, hidden);
    hidden = add_to(residual, hidden);
    return hidden;
  }

 private:
  Tensor add_to(const Tensor& residual, const Tensor& x) const {
    return form_.multipliers ? residual + multiply_number(x) : residual + x;
  }

  const LlamaForm& form_;
  SelfAttention attention_;
  std::unique_ptr<FeedForwardPart> mlp_;
  NormLayer before_attention_, after_attention_, before_mlp_, after_mlp_;
};

}  // namespace

std::unique_ptr<Block> make_gemma2_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  return std::make_unique<Gemma2Block>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
