// DeepSpeed without ZeRO: 16-bit weights with fp32 master weights on every GPU.
//
// bf16: after a backward its gradients are added to flat fp32 ones; the next backward writes zeros into them, they
// never go (clear_lp_grads). Each GPU has master weights and states of its part: this is ZeRO-1 with gradients in fp32,
// too (BF16_Optimizer). fp16: flat master weights and states of all weights; the gradients stay in fp16 until the step,
// which makes fp32 copies of all and lays them end to end (FP16_Optimizer).
// Source: DeepSpeed deepspeed/runtime/bf16_optimizer.py, deepspeed/runtime/fp16/fused_optimizer.py.
#pragma once

#include <vector>

#include "engine/parallel/zero.h"

namespace trainmem {

class Zero0 : public Zero {
 public:
  explicit Zero0(const Recipe& recipe) : recipe_(recipe) {}

  void wrap() override;
  void end_backward() override;
  void reduce() override;
  void step() override;

 private:
  bool is_bf16() const { return dtype_ == DType::bfloat16; }
  void reduce_fp16() const;

  const Recipe& recipe_;
  DType dtype_ = DType::bfloat16;
  std::vector<Tensor> weights_;
  Tensor flat_;
  Tensor gradients_;  ///< bf16: fp32 gradients of all weights
  std::int64_t partition_ = 0;
  std::unique_ptr<MasterWeights> master_;
};

}  // namespace trainmem
