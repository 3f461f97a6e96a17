// Training on pairs of sequences without a reference: reward models, ORPO, CPO and SimPO, as TRL's trainers run them.
//
// Chosen and rejected sequences go through the model in one forward. TRL f2cd5771 trainer/reward_trainer.py,
// experimental/orpo/orpo_trainer.py, experimental/cpo/cpo_trainer.py (which runs SimPO: loss_type simpo, cpo_alpha 0).
#pragma once

#include <string>

#include "engine/training/objective.h"

namespace trainmem {

/// A score of each sequence is higher for the chosen one.
class RewardModelling : public ObjectiveStep {
 public:
  using ObjectiveStep::ObjectiveStep;
  Tensor loss(CausalModel& policy, std::int32_t step, const std::string& name) override;
};

/// The chosen sequence becomes more probable than the rejected one, with ORPO and CPO also by cross-entropy.
class PairTuning : public ObjectiveStep {
 public:
  using ObjectiveStep::ObjectiveStep;
  Tensor loss(CausalModel& policy, std::int32_t step, const std::string& name) override;
};

}  // namespace trainmem
