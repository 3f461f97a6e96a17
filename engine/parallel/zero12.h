// ZeRO stages 1 and 2 as DeepSpeed runs them: flat weights on every GPU, an fp32 part of them to step.
//
// Stage 2: each gradient is copied into a bucket as it appears; a full bucket is reduced, the gradients of this GPU's
// part are copied out and the others go. Stage 1 does the same after the last backward; until then the gradients stay.
// The GPU shown is the last one: its part is the end of the model, whose gradients come first and stay longest.
// With offload_optimizer, master weights, states and the gradients of this GPU's part are in host memory.
// Source: DeepSpeed deepspeed/runtime/zero/stage_1_and_2.py; contiguous_gradients on (its default).
#pragma once

#include <vector>

#include "engine/parallel/zero.h"

namespace trainmem {

class Zero12 : public Zero {
 public:
  explicit Zero12(const Recipe& recipe) : recipe_(recipe) {}
  ~Zero12() override;

  void wrap() override;
  void set_last_micro_batch(bool last) override { last_backward_ = last; }
  void end_backward() override;
  void reduce() override;
  void step() override;

 private:
  struct Weight {
    Tensor tensor;
    std::int64_t begin = 0;  ///< within the flat weights
    std::int64_t end = 0;
  };

  void receive(const Tensor& leaf, std::size_t index);
  void add_to_bucket(std::size_t index);
  void reduce_bucket();
  void all_reduce() const;
  void empty_buckets();
  void send_to_host(const Weight& weight) const;
  bool owned(const Weight& weight) const { return weight.end > first_; }

  const Recipe& recipe_;
  DType dtype_ = DType::bfloat16;
  std::int64_t partition_ = 0;       ///< elements of one GPU's part
  std::int64_t first_ = 0;           ///< where this GPU's part begins
  std::int64_t owned_elements_ = 0;  ///< of whole weights that have something in this GPU's part
  std::vector<Weight> weights_;
  Tensor flat_;
  Tensor host_buffer_;  ///< with an optimizer in host memory: one gradient on its way
  bool last_backward_ = true;
  std::unique_ptr<MasterWeights> master_;
  Tensor bucket_;
  Tensor next_bucket_;  ///< with overlap: filled while the other one is reduced
  std::int64_t bucket_elements_ = 0;
  std::vector<std::size_t> in_bucket_;
  Tensor reduced_;   ///< gradients of this GPU's part, of this backward
  Tensor averaged_;  ///< the same, added up until the step
};

}  // namespace trainmem
