// The block of Llama and of the families that norm before attention and before the MLP: models/llama, mistral,
// ministral, qwen2, qwen3, gemma, granite, smollm3, arcee, seed_oss, phi3, olmo, starcoder2, nemotron, glm, ernie4_5,
// helium, hunyuan_v1_dense, ministral3, nanochat, apertus, granitemoehybrid, bamba, lfm2, and with experts lfm2_moe,
// mixtral, qwen2_moe, qwen3_moe, olmoe, deepseek_v2, deepseek_v3, glm4_moe, glm4_moe_lite, minimax_m2, gpt_oss, dots1,
// solar_open, exaone_moe, ernie4_5_moe, hunyuan_v1_moe, phimoe, and
// those of transformers5_form.cpp: modeling_*.py.
#include <utility>

#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/llama_model.h"
#include "engine/parameters/indexer.h"

namespace trainmem::transformers {

namespace {

class LlamaBlock : public Block {
 public:
  LlamaBlock(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) : model_(m), form_(form) {
    // models/granitemoehybrid/modeling_granitemoehybrid.py: GraniteMoeHybridDecoderLayer makes its mixer last, and so
    // do BambaDecoderLayer and JetMoeDecoderLayer, whose norms come after the MLP.
    const bool granite = m.model_type == "granitemoehybrid";
    const bool mixer_last = granite || m.model_type == "bamba" || m.model_type == "jetmoe";
    if (granite) make_norms(dtype);
    if (!mixer_last) attention_ = make_attention(m, form, dtype, layer);
    mlp_ = make_feed_forward(m, form, dtype, layer);
    if (!granite) make_norms(dtype);
    if (mixer_last) attention_ = make_attention(m, form, dtype, layer);
  }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = norm_at("norm before attention", input_norm_, hidden);
    Tensor weights;  // of eager attention: held until the block returns
    Tensor attended;
    if (form_.holds_attention) {
      attended = (*attention_)(hidden, inputs, weights);
      hidden = add_to(residual, attended, false);
    } else {
      hidden = (*attention_)(hidden, inputs, weights);
      hidden = add_to(residual, hidden, false);
    }
    residual = hidden;
    hidden = norm_at("norm before MLP", post_attention_norm_, hidden);
    Tensor routed;  // held until the block returns, where it has a name of its own
    hidden = mlp_->run(hidden, routed);
    hidden = add_to(residual, hidden, true);
    const bool returns = model_.model_type == "bamba" || indexer_of(model_.model_type).returns_choice;
    if (returns) returned_weights_ = std::move(weights);
    return hidden;
  }

 private:
  void make_norms(DType dtype) {
    input_norm_ = llama_norm_layer(model_, form_, dtype);
    post_attention_norm_ = llama_norm_layer(model_, form_, dtype);
  }

  /// `last`: the sum is what the block returns.
  Tensor add_to(const Tensor& residual, const Tensor& x, bool last) const {
    if (active_run().compiled_region != 0) return compiled_residual_sum(residual, x, model_.hidden_dropout, last);
    if (form_.multipliers || form_.scaled_residuals) return residual + multiply_number(x);
    if (form_.inner_dropout) return residual + x;
    return residual + dropout(x, model_.hidden_dropout);
  }

  const Model& model_;
  const LlamaForm& form_;
  std::unique_ptr<AttentionPart> attention_;
  std::unique_ptr<FeedForwardPart> mlp_;
  NormLayer input_norm_, post_attention_norm_;
};

}  // namespace

std::unique_ptr<Block> make_llama_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  return std::make_unique<LlamaBlock>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
