// Attention of torchtune's models (modules/attention.py, models/gemma2/_attention.py) and the rotary tables they read.
#pragma once

#include <optional>

#include "engine/blocks/transformers/parts.h"

namespace trainmem::torchtune {

/// Whether query and key turn by halves of a head, with tables of cos and sin one after the other: Qwen 2 and Phi-3.
bool turns_halves(const Model& model);

/// Builders of models with adapters give every layer tables of its own (models/*/_component_builders.py:
/// lora_*_self_attention), but llama3_1 and llama3_2: Llama with more than 8,192 positions or a tied head.
bool has_tables_in_layers(const Model& model);

/// Tables of RoPE for every position.
class RotaryTables {
 public:
  explicit RotaryTables(const Model& model);
  /// Of the first positions, to be broadcast over heads.
  Tensor first(const Size& positions) const;

 private:
  Tensor frequencies_;
  Tensor table_;
};

class SelfAttention {
 public:
  SelfAttention(const Model& model, DType dtype, std::int64_t layer);
  Tensor operator()(const Tensor& x, const BlockInputs& inputs) const;

 private:
  Tensor fused(const Tensor& query, const Tensor& x, const Tensor& table, AttentionKernel kernel) const;
  Tensor gemma2(Tensor query, const Tensor& x, const Tensor& table) const;
  Tensor turn(const Tensor& x, const Tensor& table) const;

  const Model& model_;
  Linear query_, key_, value_, output_;
  std::optional<RotaryTables> tables_;
  bool slides_ = false;
};

}  // namespace trainmem::torchtune
