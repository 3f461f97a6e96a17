// The block of StableLM, whose forward has more local variables, and whose residual may be parallel:
// models/stablelm/modeling_stablelm.py.
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/llama_model.h"

namespace trainmem::transformers {

namespace {

class StableLmBlock : public Block {
 public:
  StableLmBlock(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
      : model_(m),
        attention_(m, form, dtype, layer),
        mlp_(m, form, dtype),
        input_norm_(llama_norm_layer(m, form, dtype)) {
    if (!m.parallel_attention_mlp) post_attention_norm_ = llama_norm_layer(m, form, dtype);
  }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = norm_at("norm before attention", input_norm_, hidden);
    Tensor weights;
    const Tensor attended = attention_(hidden, inputs, weights);
    Tensor fed;
    if (model_.parallel_attention_mlp) {
      fed = dropout(mlp_(hidden), model_.hidden_dropout);
      return (residual + attended) + fed;
    }
    residual = residual + attended;
    fed = dropout(mlp_(norm_at("norm before MLP", post_attention_norm_, residual)), model_.hidden_dropout);
    return residual + fed;
  }

 private:
  const Model& model_;
  SelfAttention attention_;
  FeedForward mlp_;
  NormLayer input_norm_, post_attention_norm_;
};

}  // namespace

std::unique_ptr<Block> make_stablelm_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  return std::make_unique<StableLmBlock>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
