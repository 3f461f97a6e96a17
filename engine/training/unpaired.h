// Preference tuning on sequences of which each alone is wanted or not (KTO, arXiv 2402.01306), as TRL's trainer runs
// it.
//
// A micro-batch has as many sequences again, of other pairs of prompts and completions, whose log-probabilities under
// policy and reference say how far these lie apart. TRL f2cd5771 trainer/kto_trainer.py: KTOTrainer._compute_loss,
// _compute_kl_logps.
#pragma once

#include <string>
#include <vector>

#include "engine/training/objective.h"
#include "engine/training/reference_model.h"

namespace trainmem {

class UnpairedTuning : public ObjectiveStep {
 public:
  UnpairedTuning(const Config& config, const std::vector<LayerSlot>& slots, Run& run)
      : ObjectiveStep(config, run), reference_(config, slots, run) {}
  Tensor loss(CausalModel& policy, std::int32_t step, const std::string& name) override;

 private:
  ReferenceRunner reference_;
};

}  // namespace trainmem
