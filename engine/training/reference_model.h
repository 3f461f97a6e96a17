// The model that a policy is compared with, as TRL's trainers run it: without autograd and without recomputation.
//
// A frozen copy of the weights, or the policy itself with its adapters disabled. TRL f2cd5771 trainer/dpo_trainer.py,
// trainer/grpo_trainer.py, models/utils.py: prepare_fsdp.
#pragma once

#include <memory>
#include <vector>

#include "engine/blocks/causal_model.h"
#include "engine/config.h"
#include "engine/parallel/zero3.h"
#include "engine/tensor/run.h"
#include "engine/training/model_output.h"

namespace trainmem {

/// The reference that a recipe's words mean; never automatic, and none where the objective has none.
ReferenceModel reference_of(const Recipe& recipe);

/// Whether a second copy of the weights is there.
inline bool holds_reference(const Recipe& recipe) { return reference_of(recipe) == ReferenceModel::copy; }

/// The model as the trainer leaves it for training: modules of dropout do nothing (disable_dropout_in_model); what
/// calls functions goes on.
Model without_dropout_modules(const Model& model);

/// The same in evaluation, where nothing drops.
Model in_evaluation(const Model& model);

class ReferenceRunner {
 public:
  /// Makes the reference's weights, if there are some of its own. `slots`: the policy's layers.
  ReferenceRunner(const Config& config, const std::vector<LayerSlot>& slots, Run& run);
  ReferenceModel kind() const { return kind_; }
  /// Its logits, without autograd. `policy`: the reference once its adapters are disabled.
  Tensor logits(CausalModel& policy, const ModelInputs& inputs);

 private:
  void make_copy(const Config& config, const std::vector<LayerSlot>& slots);
  /// The same, divided by ZeRO-3.
  void make_parts(const Config& config, const std::vector<LayerSlot>& slots);
  Tensor logits_of_copy(const ModelInputs& inputs);

  Run& run_;
  const ModelOutput output_;
  const ReferenceModel kind_;
  const bool is_one_group_;                 ///< the copy is gathered whole: FSDP2
  std::unique_ptr<ModuleWrapper> wrapper_;  ///< of the copy, whose weights are shards; null: they are whole, or
  std::unique_ptr<Zero3> zero_;             ///< parts that ZeRO-3 gathers
  std::unique_ptr<CausalModel> copy_;
  std::vector<RegisteredParameter> parameters_;  ///< of the copy: no optimizer is given them
};

}  // namespace trainmem
