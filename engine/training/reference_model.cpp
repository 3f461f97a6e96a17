#include "engine/training/reference_model.h"

#include <utility>

#include "engine/config/deepspeed.h"
#include "engine/config/shard_group.h"
#include "engine/tape/rows.h"
#include "engine/tensor/ops.h"
#include "engine/text/list.h"
#include "engine/training/fsdp.h"

namespace trainmem {

namespace {

/// A model of its own: no adapters, nothing frozen apart from the rest, nothing recomputed.
Recipe of_copy(Recipe recipe) {
  recipe.lora.rank = 0;
  recipe.frozen_layers = 0;
  recipe.frozen_head = false;
  recipe.recomputation = Recomputation::none;
  return recipe;
}

}  // namespace

ReferenceModel reference_of(const Recipe& recipe) {
  const bool prefers = recipe.objective == Objective::dpo || recipe.objective == Objective::kto;
  if (!prefers && recipe.objective != Objective::grpo) return ReferenceModel::none;
  if (recipe.reference_model != ReferenceModel::automatic) return recipe.reference_model;
  if (!prefers) return ReferenceModel::none;  // GRPOConfig.beta is 0
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

ReferenceRunner::ReferenceRunner(const Config& config, const std::vector<LayerSlot>& slots, Run& run)
    : run_(run), output_(config.recipe), kind_(reference_of(config.recipe)), is_one_group_(uses_fsdp2(config.recipe)) {
  if (kind_ != ReferenceModel::copy) return;
  const Place place(reference_place);
  std::vector<RegisteredParameter> of_policy = std::move(run.parameters);
  run.parameters.clear();
  if (uses_zero(config.recipe) && config.recipe.data_parallel == DataParallel::zero3)
    make_parts(config, slots);
  else
    make_copy(config, slots);
  parameters_ = std::move(run.parameters);
  run.parameters = std::move(of_policy);
}

// TRL models/utils.py, prepare_fsdp: FSDP1 wraps the layers, as it does the policy's; FSDP2 the whole model alone.
void ReferenceRunner::make_copy(const Config& config, const std::vector<LayerSlot>& slots) {
  const Set<std::int64_t> no_adapters(run_.settings.fine_tuning.rank, 0);
  const Set<bool> none_frozen(run_.new_parameters.frozen, false);
  Config of_reference = config;
  of_reference.model = in_evaluation(config.model);
  of_reference.recipe = of_copy(config.recipe);
  const Recipe& recipe = of_reference.recipe;
  if (recipe.data_parallel == DataParallel::fsdp) wrapper_ = make_fsdp(of_reference);
  const bool as_policy = wrapper_ != nullptr && !is_one_group_;
  if (wrapper_ != nullptr && is_one_group_) wrapper_->open_group(ModulePart::layer);
  copy_ = std::make_unique<CausalModel>(make_architecture(of_reference.model, recipe), slots, recipe,
                                        as_policy ? wrapper_.get() : nullptr);
}

// TRL models/utils.py, prepare_deepspeed: an engine of its own, which knows no optimizer.
void ReferenceRunner::make_parts(const Config& config, const std::vector<LayerSlot>& slots) {
  Run& run = run_;
  const Set<decltype(run.new_parameters.maker)> maker(run.new_parameters.maker, nullptr);
  const Set<OperationHooks*> hooks(run.operation_hooks, nullptr);
  zero_ = std::make_unique<Zero3>(config.recipe);
  make_copy(config, slots);
  zero_->wrap_untrained();
}

/// prepare_fsdp does not run the model under autocast.
Tensor ReferenceRunner::logits_of_copy(const ModelInputs& inputs) {
  if (zero_) {
    const Set<OperationHooks*> hooks(run_.operation_hooks, zero_.get());
    Tensor logits = output_.logits(*copy_, inputs);
    zero_->end_forward();
    return logits;
  }
  if (wrapper_ == nullptr) return output_.logits(*copy_, inputs);
  if (!is_one_group_) return ModelOutput::run(*copy_, inputs);
  wrapper_->before_forward(0, inputs.ids);
  Tensor logits = wrapper_->after_forward(0, ModelOutput::run(*copy_, inputs));
  wrapper_->end_forward();
  return logits;
}

Tensor ReferenceRunner::logits(CausalModel& policy, const ModelInputs& inputs) {
  const Set<bool> without_autograd(run_.grad_enabled, false);
  if (kind_ == ReferenceModel::copy) return logits_of_copy(inputs);
  const Set<bool> without_adapters(run_.adapters_disabled, true);
  return output_.logits(policy, inputs);
}

}  // namespace trainmem
