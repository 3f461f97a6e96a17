#include "engine/training/policy.h"

#include <algorithm>
#include <utility>

#include "engine/blocks/policy_loss.h"
#include "engine/blocks/token_log_probabilities.h"
#include "engine/config/sequences.h"
#include "engine/tensor/ops.h"

namespace trainmem {

namespace {

constexpr Rule batch_rule{"completions", "of all micro-batches of the step",
                          "TRL trainer/grpo_trainer.py: _prepare_inputs, _buffered_inputs"};
constexpr Rule input_rule{"input", "prompts and completions of the micro-batch",
                          "TRL trainer/grpo_trainer.py: _compute_loss"};
constexpr Rule scores_rule{"log-probabilities", "without autograd",
                           "TRL trainer/grpo_trainer.py: _generate_and_score_completions"};

Tensor index_of(const Tensor& ids, const Size& tokens) { return alias(ids, {ids.size(0), tokens, 1}, ids->strides); }

Tensor copy_of(const Tensor& tensor) {
  return tensor.defined() ? allocate(tensor.shape(), tensor.dtype(), {&batch_rule}) : Tensor{};
}

}  // namespace

PolicyTuning::PolicyTuning(const Config& config, const std::vector<LayerSlot>& slots, Run& run)
    : ObjectiveStep(config, run), reference_(config, slots, run) {}

PolicyTuning::Batch PolicyTuning::new_batch() const {
  const Size sequences = recipe_.micro_batch_size * recipe_.gradient_accumulation_steps;
  Batch batch;
  for (const Size& length : {recipe_.sequence_length - completion_tokens(recipe_), completion_tokens(recipe_)}) {
    for (const char* role : {"token ids", "mask"})
      batch.tokens.push_back(allocate({sequences, length}, DType::int64, {&batch_rule, role}));
  }
  batch.number_of_tokens = allocate({}, DType::int64, {&batch_rule, "number of tokens"});
  return batch;
}

Tensor PolicyTuning::whole_sequences(const Size& sequences, const char* role) const {
  return allocate({sequences, recipe_.sequence_length}, DType::int64, {&input_rule, role});
}

/// Log-probabilities of the completions by `logits`. Logits of one micro-batch live until the next one's are there.
template <class Logits>
Tensor PolicyTuning::scores(const Logits& logits, const ModelInputs& of_step, std::int64_t most) const {
  const Set<bool> without_autograd(run_.grad_enabled, false);
  const Size micro_batches = recipe_.gradient_accumulation_steps;
  const std::int64_t turns = std::min(micro_batches.value(), most);
  const Size tokens = completion_tokens(recipe_);
  const Tensor ids = part_of(of_step.ids);
  const ModelInputs inputs{ids, part_of(of_step.attention_mask), tokens + Size(1)};
  Tensor output;
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < turns; ++i) {
    output = logits(inputs);
    const Place place("loss", Component::logits_and_loss);
    parts.push_back(selective_log_softmax(divided_by_temperature(output, tokens), index_of(ids, tokens)));
  }
  const Place place("loss", Component::logits_and_loss);
  const Shape of_others{recipe_.micro_batch_size * (micro_batches - Size(turns)), tokens};
  parts.push_back(allocate(of_others, output.dtype(), {&scores_rule}));
  Tensor result = allocate({recipe_.micro_batch_size * micro_batches, tokens}, output.dtype(), {&scores_rule});
  let_go(parts);
  return result;
}

void PolicyTuning::begin_step(CausalModel& policy, std::int32_t step, std::int64_t most) {
  const bool has_reference = reference_.kind() != ReferenceModel::none;
  const bool computes = recipe_.old_log_probabilities || has_reference;
  run_.begin_phase(step, computes ? Phase::reference : Phase::forward, "step " + std::to_string(step) + " scoring");
  Batch batch;
  {
    Batch made = new_batch();
    {
      const Size sequences = recipe_.micro_batch_size * recipe_.gradient_accumulation_steps;
      const Tensor ids = whole_sequences(sequences, "token ids");
      const Tensor mask = whole_sequences(sequences, "attention mask");
      const auto by_policy = [&](const ModelInputs& inputs) { return output_.logits(policy, inputs); };
      const auto by_reference = [&](const ModelInputs& inputs) { return reference_.logits(policy, inputs); };
      if (recipe_.old_log_probabilities) made.old = scores(by_policy, {ids, mask}, most);
      if (has_reference) made.reference = scores(by_reference, {ids, mask}, most);
      made.advantages = allocate({sequences}, DType::float32, {&batch_rule, "advantages"});
    }
    for (const Tensor& tokens : made.tokens) batch.tokens.push_back(copy_of(tokens));  // shuffle_sequence_dict
    batch.advantages = copy_of(made.advantages);
    batch.old = copy_of(made.old);
    batch.reference = copy_of(made.reference);
    batch.number_of_tokens = made.number_of_tokens;
    let_go(made.tokens);
  }
  let_go(batch_.tokens);
  batch_ = std::move(batch);
}

/// The micro-batch's rows.
Tensor PolicyTuning::part_of(const Tensor& of_step) const {
  if (!of_step.defined()) return {};
  Shape shape = of_step.shape();
  shape[0] = recipe_.micro_batch_size;
  return alias(of_step, shape, of_step->strides);
}

Tensor PolicyTuning::loss(CausalModel& policy, std::int32_t step, const std::string& name) {
  const Size sequences = recipe_.micro_batch_size;
  const Size tokens = completion_tokens(recipe_);
  const Tensor ids = whole_sequences(sequences, "token ids");
  const Tensor attention_mask = whole_sequences(sequences, "attention mask");
  Tensor log_probabilities;
  Tensor entropies;
  {
    const Tensor logits = output_.logits(policy, {ids, attention_mask, tokens + Size(1)});
    run_.begin_phase(step, Phase::loss, name);
    const Place place("loss", Component::logits_and_loss);
    const Tensor divided = divided_by_temperature(logits, tokens);
    log_probabilities = selective_log_softmax(divided, index_of(ids, tokens));
    entropies = entropy_from_logits(divided);
    policy.drop_output();
  }
  const Place place("loss", Component::logits_and_loss);
  const Tensor advantages = view(part_of(batch_.advantages), {sequences, 1});
  Tensor result = policy_loss(log_probabilities, part_of(batch_.old), part_of(batch_.reference), advantages,
                              part_of(batch_.tokens[3]));
  Tensor of_routers = policy.take_auxiliary_loss();
  return of_routers.defined() ? add(std::move(result), multiply_number(std::move(of_routers))) : result;
}

}  // namespace trainmem
