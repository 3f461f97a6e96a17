// The one linear layer of litgpt that makes query, key and value, with LoRA beside it: litgpt/lora.py (v0.5.13),
// LoRAQKVLinear. Its LoRALinear is what peft does.
#pragma once

#include "engine/blocks/transformers/parts.h"

namespace trainmem::litgpt {

/// Query, key and value in one linear layer. Adapters of the chosen ones share A; B is a convolution in groups, and
/// what is not chosen is padded with zeros.
class QueryKeyValue {
 public:
  QueryKeyValue(const Model& model, DType dtype);
  Tensor operator()(Tensor x) const;

 private:
  Tensor adapted(const Tensor& x) const;

  Linear linear_;
  Size out_;
  std::vector<Size> chosen_;  ///< widths of those with an adapter
  bool same_widths_ = true;
  Tensor a_;        ///< (rank * chosen, in)
  Tensor b_;        ///< (widths of the chosen, rank)
  Tensor indices_;  ///< where the chosen ones stand; undefined: all are chosen
};

}  // namespace trainmem::litgpt
