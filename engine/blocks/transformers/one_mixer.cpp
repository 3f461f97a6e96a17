// The block of Nemotron-H: one norm and one mixer, which the pattern of the layers names, be it Mamba, attention, an
// MLP or experts: models/nemotron_h/modeling_nemotron_h.py, NemotronHBlock. Mamba 2's residuals are in fp32:
// models/mamba2/modeling_mamba2.py, Mamba2Block.
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/llama_model.h"
#include "engine/config/layer_types.h"

namespace trainmem::transformers {

namespace {

class OneMixerBlock : public Block {
 public:
  OneMixerBlock(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
      : norm_(llama_norm_layer(m, form, dtype)), fp32_residuals_(form.fp32_residuals) {
    const LayerType type = layer_type(m, layer);
    if (type == LayerType::mlp || type == LayerType::moe)
      feed_forward_ = make_feed_forward(m, form, dtype, layer);
    else
      attention_ = make_attention(m, form, dtype, layer);
  }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = norm_at("norm before the mixer", norm_, to(hidden, norm_.weight.dtype()));
    if (fp32_residuals_) residual = to(residual, DType::float32, "fp32 residual");
    Tensor weights;  // of eager attention: named, and let go with the call's result
    hidden = attention_ ? (*attention_)(hidden, inputs, weights) : (*feed_forward_)(hidden);
    hidden = residual + hidden;
    return hidden;
  }

 private:
  NormLayer norm_;
  bool fp32_residuals_;
  std::unique_ptr<AttentionPart> attention_;
  std::unique_ptr<FeedForwardPart> feed_forward_;
};

}  // namespace

std::unique_ptr<Block> make_one_mixer_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  return std::make_unique<OneMixerBlock>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
