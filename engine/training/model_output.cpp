#include "engine/training/model_output.h"

#include <utility>

#include "engine/config/shard_group.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

// accelerate accelerator.py, prepare_model: where the model runs under autocast, its outputs are converted
// (utils/operations.py: convert_outputs_to_fp32). _prepare_fsdp2 does without.
ModelOutput::ModelOutput(const Recipe& recipe)
    : formats_(formats(recipe)), converts_(formats_.autocast != DType::automatic && !uses_fsdp2(recipe)) {}

Tensor ModelOutput::logits(CausalModel& model, const ModelInputs& inputs) const {
  Tensor logits;
  {
    const AutocastScope autocast(Autocast::in(formats_.autocast));
    logits = run(model, inputs);
  }
  if (!converts_) return logits;
  const Place place("head", Component::logits_and_loss);
  return to(std::move(logits), DType::float32, "fp32 logits");
}

Tensor ModelOutput::run(CausalModel& model, const ModelInputs& inputs) {
  Run& run = active_run();
  const auto logits = [&] { return model.logits(inputs.ids, inputs.positions, inputs.attention_mask); };
  if (!run.settings.padding) return logits();
  if (!run.grad_enabled) {
    const Set<Tensor> mask(run.attention_mask, inputs.attention_mask);
    return logits();
  }
  run.attention_mask = inputs.attention_mask;  // recomputation reads it
  return logits();
}

}  // namespace trainmem
