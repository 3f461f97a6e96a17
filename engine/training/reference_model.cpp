#include "engine/training/reference_model.h"

#include <utility>

#include "engine/config/shard_group.h"
#include "engine/tape/rows.h"
#include "engine/tensor/ops.h"
#include "engine/text/list.h"
#include "engine/training/fsdp.h"

namespace trainmem {

namespace {

/// accelerate accelerator.py, prepare_model: where the model runs under autocast, its outputs are converted
/// (utils/operations.py: convert_outputs_to_fp32). _prepare_fsdp2 does without.
bool converts_outputs(const Recipe& recipe) {
  return formats(recipe).autocast != DType::automatic && !uses_fsdp2(recipe);
}

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
    : run_(run),
      formats_(formats(config.recipe)),
      kind_(reference_of(config.recipe)),
      converts_(converts_outputs(config.recipe)),
      is_one_group_(uses_fsdp2(config.recipe)) {
  if (kind_ != ReferenceModel::copy) return;
  const Place place(reference_place);
  std::vector<RegisteredParameter> of_policy = std::move(run.parameters);
  run.parameters.clear();
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

Tensor ReferenceRunner::policy_logits(CausalModel& model, const Tensor& ids, const Size& positions,
                                      const Tensor& mask) const {
  Tensor logits;
  {
    const AutocastScope autocast(Autocast::in(formats_.autocast));
    logits = model.logits(ids, positions, mask);
  }
  if (!converts_) return logits;
  const Place place("head", Component::logits_and_loss);
  return to(std::move(logits), DType::float32, "fp32 logits");
}

/// prepare_fsdp does not run the model under autocast.
Tensor ReferenceRunner::logits_of_copy(const Tensor& ids, const Size& positions) {
  if (wrapper_ == nullptr) return policy_logits(*copy_, ids, positions);
  if (!is_one_group_) return copy_->logits(ids, positions);
  wrapper_->before_forward(0, ids);
  Tensor logits = wrapper_->after_forward(0, copy_->logits(ids, positions));
  wrapper_->end_forward();
  return logits;
}

Tensor ReferenceRunner::logits(CausalModel& policy, const Tensor& ids, const Size& positions) {
  const Set<bool> without_autograd(run_.grad_enabled, false);
  if (kind_ == ReferenceModel::copy) return logits_of_copy(ids, positions);
  const Set<bool> without_adapters(run_.adapters_disabled, true);
  return policy_logits(policy, ids, positions);
}

}  // namespace trainmem
