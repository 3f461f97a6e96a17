#include "engine/training/preference.h"

#include "engine/blocks/preference_loss.h"
#include "engine/tape/rows.h"
#include "engine/tensor/ops.h"
#include "engine/training/inputs.h"

namespace trainmem {

namespace {

constexpr Rule precomputed_rule{"precomputed", "log-probabilities that came with the batch",
                                "TRL trainer/dpo_trainer.py: _precompute_ref_logps"};

}  // namespace

Tensor PreferenceTuning::loss(CausalModel& policy, std::int32_t step, const std::string& name) {
  let_go(inputs_);
  for (const char* role : {"token ids", "attention mask", "completion mask"})
    inputs_.push_back(make_tokens(recipe_, role));
  const Tensor ids = inputs_[0];
  const ModelInputs inputs{ids, inputs_[1]};
  const Tensor completion_mask = inputs_[2];
  constexpr const char* place_name = "loss";
  const Tensor logits = output_.logits(policy, inputs);
  run_.begin_phase(step, Phase::loss, name);
  Tensor tokens;
  Tensor sums;
  {
    const Place place(place_name, Component::logits_and_loss);
    tokens = token_log_probabilities(logits, ids, completion_mask);
    sums = sequence_log_probabilities(tokens);
  }
  Tensor logits_of_reference;
  Tensor tokens_of_reference;
  Tensor sums_of_reference;
  if (reference_.kind() != ReferenceModel::precomputed) {
    run_.begin_phase(step, Phase::reference, name);
    logits_of_reference = reference_.logits(policy, inputs);
    run_.begin_phase(step, Phase::loss, name);
  }
  const Place place(place_name, Component::logits_and_loss);
  if (reference_.kind() != ReferenceModel::precomputed) {
    tokens_of_reference = token_log_probabilities(logits_of_reference, ids, completion_mask);
    sums_of_reference = sequence_log_probabilities(tokens_of_reference);
  } else {
    sums_of_reference = allocate(sums.shape(), DType::float32, {&precomputed_rule, "log-probabilities"});
  }
  Tensor result = preference_loss(sums, sums_of_reference);
  preference_metrics(logits);
  return result;
}

}  // namespace trainmem
