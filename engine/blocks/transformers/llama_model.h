// LlamaModel and LlamaForCausalLM with the variants of their relatives: everything around the blocks.
#pragma once

#include <memory>

#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/gemma4.h"
#include "engine/blocks/transformers/llama_form.h"

namespace trainmem::transformers {

class LlamaModel : public Decoder {
 public:
  LlamaModel(const Model& description, const LlamaForm& llama_form, DType dtype);
  void make_embedding() override;
  std::unique_ptr<Block> make_block(std::int64_t layer) override;
  void make_head() override;
  ForwardState begin(const Tensor& ids, AttentionKernel attention) override;
  Tensor head(Tensor hidden) override;
  Tensor loss(Tensor logits, const Tensor& labels) override;
  void return_loss() override { scaled_output_.reset(); }
  BlockInputs inputs_of(const ForwardState& state, std::int64_t layer) const override;

 private:
  void make_masks(ForwardState& state, const Tensor& embedded) const;
  void make_tables(ForwardState& state, Size batch, Size sequence, DType dtype) const;

  const LlamaForm& form_;
  Tensor embedding_scale_;
  NormLayer embedding_norm_;
  Tensor scaled_output_;  ///< a local variable of the forward that computes the loss
  std::unique_ptr<LayerEmbeddings> layer_embeddings_;
  std::unique_ptr<Rotary> rotary_;
  std::unique_ptr<Rotary> idle_rotary_;     ///< Granite with windows: its buffers alone
  std::unique_ptr<Rotary> sliding_rotary_;  ///< Gemma 3: tables of the sliding layers
};

// The forms of a block; each file says whose it is.
std::unique_ptr<Block> make_llama_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);
std::unique_ptr<Block> make_stablelm_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);
std::unique_ptr<Block> make_gemma2_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);
std::unique_ptr<Block> make_gemma4_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);
std::unique_ptr<Block> make_gemma3n_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);
std::unique_ptr<Block> make_olmo2_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);
std::unique_ptr<Block> make_minimax_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);
std::unique_ptr<Block> make_dbrx_block(const Model& m, const LlamaForm& form, DType dtype);
std::unique_ptr<Block> make_one_mixer_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);
std::unique_ptr<Block> make_falcon_h1_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);
std::unique_ptr<Block> make_olmo_hybrid_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);
std::unique_ptr<Block> make_cohere_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer);

}  // namespace trainmem::transformers
