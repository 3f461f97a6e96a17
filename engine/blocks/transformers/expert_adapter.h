// LoRA of stacked weights of experts and of routers, as peft writes it: peft 0.20 tuners/lora/layer.py, ParamWrapper.
#pragma once

#include "engine/blocks/adapter.h"

namespace trainmem::transformers {

/// Adapters of one stack of (experts, out, in), or of one matrix (out, in): their product is made in every forward, and
/// the weights with it added stand for the weights.
class ExpertAdapter {
 public:
  ExpertAdapter() = default;
  /// `fused`: matrices that the stack has side by side, each of which brings the rank.
  ExpertAdapter(Size in, Size out, Size experts, std::int64_t fused, const char* role);
  bool defined() const { return pair_.defined(); }
  /// ParamWrapper.get_delta_weight, in the weights' format, and what register_parametrization does to see that it fits.
  Tensor product(const Tensor& weight) const;

 private:
  Size experts_ = 0;
  Adapter pair_;  ///< A is (experts * rank, in), B (out, rank * experts)
};

}  // namespace trainmem::transformers
