#include "engine/training/pairs.h"

#include <utility>

#include "engine/blocks/pair_loss.h"
#include "engine/tensor/ops.h"
#include "engine/training/inputs.h"

namespace trainmem {

Tensor RewardModelling::loss(CausalModel& policy, std::int32_t step, const std::string& name) {
  let_go(inputs_);
  for (const char* role : {"token ids", "attention mask"}) inputs_.push_back(make_tokens(recipe_, role));
  Tensor scores = output_.logits(policy, {inputs_[0], inputs_[1]});
  run_.begin_phase(step, Phase::loss, name);
  const Place place("loss", Component::logits_and_loss);
  const Tensor of_sequences = score_of_last_token(std::move(scores));
  return ranking_loss(of_sequences);
}

Tensor PairTuning::loss(CausalModel& policy, std::int32_t step, const std::string& name) {
  let_go(inputs_);
  const Shape of_one{recipe_.micro_batch_size, recipe_.sequence_length};
  for (int i = 0; i < 2; ++i) {
    for (const char* role : {"token ids", "attention mask", "labels"})
      inputs_.push_back(allocate(of_one, DType::int64, {&input_rule, role}));
  }
  const Tensor ids = make_tokens(recipe_, "token ids");
  const Tensor attention_mask = make_tokens(recipe_, "attention mask");
  const Tensor labels = make_tokens(recipe_, "labels");
  const Tensor logits = output_.logits(policy, {ids, attention_mask});
  run_.begin_phase(step, Phase::loss, name);
  const Place place("loss", Component::logits_and_loss);
  Tensor of_labels;
  const Tensor copy = make_tokens(recipe_, "labels");
  if (recipe_.objective != Objective::simpo) of_labels = chosen_cross_entropy(logits, copy);
  const Tensor ranking = ranking_loss(completion_log_probabilities(logits, labels));
  return of_labels.defined() ? add(ranking, of_labels) : ranking;
}

}  // namespace trainmem
