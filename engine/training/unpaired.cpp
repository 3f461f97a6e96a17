#include "engine/training/unpaired.h"

#include "engine/blocks/preference_loss.h"
#include "engine/training/inputs.h"

namespace trainmem {

namespace {

constexpr Rule precomputed_rule{"precomputed", "log-probabilities that came with the batch",
                                "TRL trainer/kto_trainer.py: precompute_ref_logps"};

Tensor of_sequences(const Tensor& logits, const Tensor& ids, const Tensor& mask) {
  const Place place("loss", Component::logits_and_loss);
  return sequence_log_probabilities(token_log_probabilities(logits, ids, mask));
}

}  // namespace

Tensor UnpairedTuning::loss(CausalModel& policy, std::int32_t step, const std::string& name) {
  let_go(inputs_);
  for (int i = 0; i < 2; ++i) {
    for (const char* role : {"token ids", "attention mask", "completion mask"})
      inputs_.push_back(make_tokens(recipe_, role));
  }
  const Tensor ids = inputs_[0];
  const Tensor mask = inputs_[2];
  const Tensor other_ids = inputs_[3];
  const Tensor other_mask = inputs_[5];
  const ModelInputs given{ids, inputs_[1]};
  const ModelInputs others{other_ids, inputs_[4]};
  const auto enter = [&](Phase phase) { run_.begin_phase(step, phase, name); };

  Tensor apart;
  enter(Phase::reference);
  {
    const Set<bool> without_autograd(run_.grad_enabled, false);
    apart = of_sequences(output_.logits(policy, others), other_ids, other_mask);
  }
  enter(Phase::forward);
  const Tensor logits = output_.logits(policy, given);
  enter(Phase::loss);
  const Tensor sums = of_sequences(logits, ids, mask);
  Tensor apart_of_reference;
  Tensor logits_of_reference;
  Tensor sums_of_reference;
  if (reference_.kind() != ReferenceModel::precomputed) {
    enter(Phase::reference);
    {
      const Set<bool> without_autograd(run_.grad_enabled, false);
      apart_of_reference = of_sequences(reference_.logits(policy, others), other_ids, other_mask);
    }
    logits_of_reference = reference_.logits(policy, given);
    enter(Phase::loss);
    sums_of_reference = of_sequences(logits_of_reference, ids, mask);
  } else {
    sums_of_reference = allocate(sums.shape(), DType::float32, {&precomputed_rule, "log-probabilities"});
  }
  const Place place("loss", Component::logits_and_loss);
  Tensor result = preference_loss(sums, sums_of_reference);
  unpaired_metrics(logits);
  return result;
}

}  // namespace trainmem
