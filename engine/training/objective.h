// Objectives other than the next token's cross-entropy: what a step of TRL's trainers runs around the model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/blocks/causal_model.h"
#include "engine/config.h"
#include "engine/tensor/run.h"
#include "engine/training/model_output.h"

namespace trainmem {

class ObjectiveStep {
 public:
  ObjectiveStep(const Config& config, Run& run) : run_(run), recipe_(config.recipe), output_(config.recipe) {}
  virtual ~ObjectiveStep() = default;
  /// What all micro-batches of a step are given, before the first of them. `most`: as many are run.
  virtual void begin_step(CausalModel& /*policy*/, std::int32_t /*step*/, std::int64_t /*most*/) {}
  /// The forward and the loss of one micro-batch. `name`: of its phases.
  virtual Tensor loss(CausalModel& policy, std::int32_t step, const std::string& name) = 0;
  /// After the backward of the last micro-batch.
  void end_micro_batches() { let_go(inputs_); }

 protected:
  Run& run_;
  const Recipe& recipe_;
  const ModelOutput output_;    ///< of the policy
  std::vector<Tensor> inputs_;  ///< what the trainer holds of a micro-batch until the next one comes
};

/// Null: the next token. Weights of its own are made at once; `slots`: the policy's layers.
std::unique_ptr<ObjectiveStep> make_objective(const Config& config, const std::vector<LayerSlot>& slots, Run& run);

}  // namespace trainmem
