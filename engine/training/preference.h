// Preference tuning: a policy's forward beside that of a reference model (DPO, arXiv 2305.18290), as TRL's trainer runs
// them.
//
// Policy and reference each take chosen and rejected sequences in one forward, one model after the other, the reference
// without autograd and without recomputation. Its logits live until the loss is there. TRL f2cd5771
// trainer/dpo_trainer.py: DPOTrainer._compute_loss.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/training/objective.h"
#include "engine/training/reference_model.h"

namespace trainmem {

class PreferenceTuning : public ObjectiveStep {
 public:
  PreferenceTuning(const Config& config, const std::vector<LayerSlot>& slots, Run& run)
      : ObjectiveStep(config, run), reference_(config, slots, run) {}
  Tensor loss(CausalModel& policy, std::int32_t step, const std::string& name) override;

 private:
  ReferenceRunner reference_;
};

}  // namespace trainmem
