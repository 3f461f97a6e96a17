#include "engine/training/objective.h"

#include "engine/training/pairs.h"
#include "engine/training/policy.h"
#include "engine/training/preference.h"
#include "engine/training/unpaired.h"

namespace trainmem {

std::unique_ptr<ObjectiveStep> make_objective(const Config& config, const std::vector<LayerSlot>& slots, Run& run) {
  switch (config.recipe.objective) {
    case Objective::next_token: break;
    case Objective::dpo: return std::make_unique<PreferenceTuning>(config, slots, run);
    case Objective::grpo: return std::make_unique<PolicyTuning>(config, slots, run);
    case Objective::reward: return std::make_unique<RewardModelling>(config, run);
    case Objective::kto: return std::make_unique<UnpairedTuning>(config, slots, run);
    case Objective::orpo:
    case Objective::cpo:
    case Objective::simpo: return std::make_unique<PairTuning>(config, run);
  }
  return nullptr;
}

}  // namespace trainmem
