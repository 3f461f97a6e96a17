// Training on pairs of sequences without a reference: reward models, ORPO, CPO and SimPO, as TRL's trainers run them.
//
// Chosen and rejected sequences go through the model in one forward. TRL f2cd5771 trainer/reward_trainer.py,
// experimental/orpo/orpo_trainer.py, experimental/cpo/cpo_trainer.py (which runs SimPO: loss_type simpo, cpo_alpha 0).
#pragma once

#include <string>
#include <vector>

#include "engine/training/model_output.h"
#include "engine/training/objective.h"

namespace trainmem {

/// A score of each sequence is higher for the chosen one.
class RewardModelling : public ObjectiveStep {
 public:
  RewardModelling(const Config& config, Run& run) : run_(run), recipe_(config.recipe), output_(config.recipe) {}
  Tensor loss(CausalModel& policy, std::int32_t step, const std::string& name) override;
  void end_micro_batches() override { let_go(inputs_); }

 private:
  Run& run_;
  const Recipe& recipe_;
  const ModelOutput output_;
  std::vector<Tensor> inputs_;
};

/// The chosen sequence becomes more probable than the rejected one, with ORPO and CPO also by cross-entropy.
class PairTuning : public ObjectiveStep {
 public:
  PairTuning(const Config& config, Run& run) : run_(run), recipe_(config.recipe), output_(config.recipe) {}
  Tensor loss(CausalModel& policy, std::int32_t step, const std::string& name) override;
  void end_micro_batches() override { let_go(inputs_); }

 private:
  Run& run_;
  const Recipe& recipe_;
  const ModelOutput output_;
  std::vector<Tensor> inputs_;  ///< ids, masks and labels of chosen sequences, then of rejected ones
};

}  // namespace trainmem
