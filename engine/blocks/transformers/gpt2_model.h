// What GPT-2 and its relatives with learned positions share around their blocks.
#pragma once

#include "engine/blocks/transformers/decoder.h"

namespace trainmem::transformers {

class Gpt2Model : public Decoder {
 public:
  using MakeBlock = std::unique_ptr<Block> (*)(const Model& model, DType dtype);
  Gpt2Model(const Model& description, DType dtype, MakeBlock block) : Decoder(description, dtype), make_block_(block) {}
  void make_embedding() override;
  std::unique_ptr<Block> make_block(std::int64_t) override { return make_block_(model, weights); }
  ForwardState begin(const Tensor& ids, AttentionKernel attention) override;

 private:
  MakeBlock make_block_;
  Tensor positions_;
};

/// A causal mask of all positions, as a buffer of booleans.
Tensor make_causal_buffer(const Model& model);

}  // namespace trainmem::transformers
