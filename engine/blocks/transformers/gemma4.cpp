// The block of Gemma 4: models/gemma4/modeling_gemma4.py, Gemma4TextDecoderLayer.
#include "engine/blocks/transformers/gemma4.h"

#include <optional>

#include "engine/blocks/transformers/llama_model.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr Rule scalar_rule{"layer scalar", "a buffer that a layer's result is multiplied with",
                           "transformers models/gemma4/modeling_gemma4.py: Gemma4TextDecoderLayer"};

class Gemma4Block : public Block {
 public:
  Gemma4Block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
      : attention_(m, form, dtype, layer), mlp_(m, form, dtype, mlp_width(m, layer)) {
    for (NormLayer* norm : {&before_attention_, &after_attention_, &before_mlp_, &after_mlp_})
      *norm = llama_norm_layer(m, form, dtype);
    scalar_ = model_buffer({1}, dtype, scalar_rule);
    if (m.hidden_size_per_layer_input > 0) embedding_.emplace(m, form, dtype);
    if (m.experts.num_experts > 0) experts_.emplace(m, form, dtype);
  }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = norm_at("norm before attention", before_attention_, hidden);
    Tensor weights;
    hidden = attention_(hidden, inputs, weights);
    hidden = norm_at("norm after attention", after_attention_, hidden);
    hidden = residual + hidden;
    residual = hidden;
    hidden = norm_at("norm before MLP", before_mlp_, hidden);
    hidden = mlp_(hidden);
    Locals of_experts;
    if (experts_) hidden = (*experts_)(hidden, residual, weights, of_experts);
    hidden = norm_at("norm after MLP", after_mlp_, hidden);
    hidden = residual + hidden;
    if (embedding_) {
      residual = hidden;
      hidden = (*embedding_)(std::move(hidden), inputs.layer_embedding);
      hidden = residual + hidden;
    }
    return multiply_in_place(std::move(hidden), scalar_);
  }

 private:
  static Size mlp_width(const Model& m, std::int64_t layer) {
    return Size(m.intermediate_size) * Size(m.use_double_wide_mlp && shares_keys(m, layer) ? 2 : 1);
  }

  Gemma4Attention attention_;
  FeedForward mlp_;
  NormLayer before_attention_, after_attention_, before_mlp_, after_mlp_;
  Tensor scalar_;
  std::optional<LayerEmbeddingInput> embedding_;
  std::optional<Gemma4Experts> experts_;
};

}  // namespace

std::unique_ptr<Block> make_gemma4_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  return std::make_unique<Gemma4Block>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
