// Training of a policy on completions that it wrote (GRPO, arXiv 2402.03300), as TRL's trainer runs it.
//
// A step is given a batch of completions for all its micro-batches, with which it computes, where they are asked for,
// log-probabilities of the policy that wrote and of a reference, without autograd, a micro-batch at a time. Then each
// micro-batch runs the policy once. TRL f2cd5771 trainer/grpo_trainer.py: _generate_and_score_completions,
// _prepare_inputs, _get_per_token_logps_and_entropies, _compute_loss. How completions are written is not here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/training/objective.h"
#include "engine/training/reference_model.h"

namespace trainmem {

class PolicyTuning : public ObjectiveStep {
 public:
  PolicyTuning(const Config& config, const std::vector<LayerSlot>& slots, Run& run);
  void begin_step(CausalModel& policy, std::int32_t step, std::int64_t most) override;
  Tensor loss(CausalModel& policy, std::int32_t step, const std::string& name) override;

 private:
  /// Tensors of all sequences of a step; a micro-batch is given views of them.
  struct Batch {
    std::vector<Tensor> tokens;  ///< ids and masks of prompts and of completions
    Tensor advantages;
    Tensor number_of_tokens;
    Tensor old;        ///< log-probabilities
    Tensor reference;  ///< the same
  };
  Batch new_batch() const;
  Tensor whole_sequences(const Size& sequences, const char* role) const;
  template <class Logits>
  Tensor scores(const Logits& logits, const ModelInputs& of_step, std::int64_t most) const;
  Tensor part_of(const Tensor& of_step) const;

  ReferenceRunner reference_;
  Batch batch_;
};

}  // namespace trainmem
