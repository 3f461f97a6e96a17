// Preference tuning: a policy's forward beside that of a reference model (DPO, arXiv 2305.18290), as TRL's trainer runs
// them.
//
// Policy and reference each take chosen and rejected sequences in one forward, one model after the other, the reference
// without autograd and without recomputation. Its logits live until the loss is there. TRL f2cd5771
// trainer/dpo_trainer.py: DPOTrainer._compute_loss.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/blocks/causal_model.h"
#include "engine/config.h"
#include "engine/config/formats.h"
#include "engine/tensor/run.h"

namespace trainmem {

/// The reference that a recipe's words mean; never automatic.
ReferenceModel reference_of(const Recipe& recipe);

/// Whether a second copy of the weights is there.
inline bool holds_reference(const Recipe& recipe) {
  return recipe.objective == Objective::dpo && reference_of(recipe) == ReferenceModel::copy;
}

/// The model as the trainer leaves it for training: modules of dropout do nothing (disable_dropout_in_model); what
/// calls functions goes on.
Model without_dropout_modules(const Model& model);

/// The same in evaluation, where nothing drops.
Model in_evaluation(const Model& model);

class PreferenceTuning {
 public:
  /// Makes the reference's weights, if there are some of its own. `slots`: the policy's layers.
  PreferenceTuning(const Config& config, const std::vector<LayerSlot>& slots, Run& run);
  /// The loss of one micro-batch. `name`: of its phases.
  Tensor loss(CausalModel& policy, const Tensor& ids, const Tensor& completion_mask, std::int32_t step,
              const std::string& name);

 private:
  void make_copy(const Config& config, const std::vector<LayerSlot>& slots);
  Tensor logits_of(CausalModel& model, const Tensor& ids) const;
  Tensor logits_of_copy(const Tensor& ids);
  Tensor reference_logits(CausalModel& policy, const Tensor& ids);

  Run& run_;
  const Formats formats_;
  const ReferenceModel reference_;
  const bool converts_;                     ///< logits to fp32
  const bool is_one_group_;                 ///< the copy is gathered whole: FSDP2
  std::unique_ptr<ModuleWrapper> wrapper_;  ///< of the copy, whose weights are shards; null: they are whole
  std::unique_ptr<CausalModel> copy_;
  std::vector<RegisteredParameter> parameters_;  ///< of the copy: no optimizer is given them
};

}  // namespace trainmem
