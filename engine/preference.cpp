#include "engine/preference.h"

#include <utility>

#include "engine/blocks/preference_loss.h"
#include "engine/config/shard_group.h"
#include "engine/tape/rows.h"
#include "engine/tensor/ops.h"
#include "engine/text/list.h"

namespace trainmem {

namespace {

/// accelerate accelerator.py, prepare_model: where the model runs under autocast, its outputs are converted
/// (utils/operations.py: convert_outputs_to_fp32). _prepare_fsdp2 does without.
bool converts_outputs(const Recipe& recipe) {
  return formats(recipe).autocast != DType::automatic && !uses_fsdp2(recipe);
}

constexpr Rule precomputed_rule{"precomputed", "log-probabilities that came with the batch",
                                "TRL trainer/dpo_trainer.py: _precompute_ref_logps"};

/// A whole model of its own, that every layer of is trained: nothing was done to it.
Recipe of_copy(Recipe recipe) {
  recipe.lora.rank = 0;
  recipe.frozen_layers = 0;
  recipe.frozen_head = false;
  recipe.recomputation = Recomputation::none;
  return recipe;
}

}  // namespace

ReferenceModel reference_of(const Recipe& recipe) {
  if (recipe.reference_model != ReferenceModel::automatic) return recipe.reference_model;
  return recipe.lora.rank > 0 ? ReferenceModel::base : ReferenceModel::copy;
}

Model without_dropout_modules(const Model& model) {
  Model result = model;
  if (!has_item("opt,xglm,biogpt,bloom,falcon,mpt,starcoder2,dbrx", model.model_type)) {
    result.hidden_dropout = 0;
    result.embedding_dropout = 0;
  }
  if (has_item("gpt2,gpt_neo,gptj,codegen,openai-gpt,bloom,falcon,persimmon", model.model_type))
    result.attention_dropout = 0;
  return result;
}

Model in_evaluation(const Model& model) {
  Model result = model;
  result.hidden_dropout = result.embedding_dropout = result.attention_dropout = 0;
  return result;
}

PreferenceTuning::PreferenceTuning(const Config& config, const std::vector<LayerSlot>& slots, Run& run)
    : run_(run),
      formats_(formats(config.recipe)),
      reference_(reference_of(config.recipe)),
      converts_(converts_outputs(config.recipe)) {
  if (reference_ != ReferenceModel::copy) return;
  const Place place(reference_place);
  std::vector<RegisteredParameter> of_policy = std::move(run.parameters);
  run.parameters.clear();
  {
    const Recipe recipe = of_copy(config.recipe);
    const Set<std::int64_t> no_adapters(run.settings.fine_tuning.rank, 0);
    const Set<bool> none_frozen(run.new_parameters.frozen, false);
    copy_ = std::make_unique<CausalModel>(make_architecture(in_evaluation(config.model), recipe), slots, recipe,
                                          nullptr);
  }
  parameters_ = std::move(run.parameters);
  run.parameters = std::move(of_policy);
}

Tensor PreferenceTuning::logits_of(CausalModel& model, const Tensor& ids) const {
  Tensor logits;
  {
    const AutocastScope autocast(formats_.autocast == DType::automatic ? Autocast{}
                                                                       : Autocast{true, formats_.autocast});
    logits = model.logits(ids);
  }
  if (!converts_) return logits;
  const Place place("head", Component::logits_and_loss);
  return to(std::move(logits), DType::float32, "fp32 logits");
}

Tensor PreferenceTuning::reference_logits(CausalModel& policy, const Tensor& ids) {
  const Set<bool> without_autograd(run_.grad_enabled, false);
  if (reference_ == ReferenceModel::copy) return logits_of(*copy_, ids);
  const Set<bool> without_adapters(run_.adapters_disabled, true);
  return logits_of(policy, ids);
}

Tensor PreferenceTuning::loss(CausalModel& policy, const Tensor& ids, const Tensor& completion_mask, std::int32_t step,
                              const std::string& name) {
  constexpr const char* place_name = "loss";
  const Tensor logits = logits_of(policy, ids);
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
  if (reference_ != ReferenceModel::precomputed) {
    run_.begin_phase(step, Phase::reference, name);
    logits_of_reference = reference_logits(policy, ids);
    run_.begin_phase(step, Phase::loss, name);
  }
  const Place place(place_name, Component::logits_and_loss);
  if (reference_ != ReferenceModel::precomputed) {
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
