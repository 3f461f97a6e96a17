// The block of Command R and Command A: one norm, then attention beside an MLP or experts: models/cohere, cohere2 and
// cohere2_moe, modeling_*.py.
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/llama_model.h"

namespace trainmem::transformers {

namespace {

class CohereBlock : public Block {
 public:
  CohereBlock(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
      : attention_(m, form, dtype, layer),
        mlp_(make_feed_forward(m, form, dtype, layer)),
        norm_(llama_norm_layer(m, form, dtype)) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    const Tensor residual = hidden;
    hidden = norm_at("norm before attention and MLP", norm_, hidden);
    Tensor weights;
    const Tensor attended = attention_(hidden, inputs, weights);
    const Tensor fed = (*mlp_)(hidden);
    return (residual + attended) + fed;
  }

 private:
  SelfAttention attention_;
  std::unique_ptr<FeedForwardPart> mlp_;
  NormLayer norm_;
};

}  // namespace

std::unique_ptr<Block> make_cohere_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  return std::make_unique<CohereBlock>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
