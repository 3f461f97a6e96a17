#include "engine/training/step.h"

#include <string>

#include "engine/blocks/adapter_format.h"
#include "engine/blocks/adapter_targets.h"
#include "engine/blocks/causal_model.h"
#include "engine/blocks/label_smoothing.h"
#include "engine/blocks/llm_foundry/loop.h"
#include "engine/config/deepspeed.h"
#include "engine/config/formats.h"
#include "engine/config/sequences.h"
#include "engine/config/shard_group.h"
#include "engine/optimizer/step.h"
#include "engine/parallel/ddp.h"
#include "engine/parallel/tensor.h"
#include "engine/parallel/zero.h"
#include "engine/parameters/trained_model.h"
#include "engine/tape/fold.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/record.h"
#include "engine/training/fsdp.h"
#include "engine/training/inputs.h"
#include "engine/training/megatron.h"
#include "engine/training/megatron_deepspeed.h"
#include "engine/training/model_output.h"
#include "engine/training/objective.h"
#include "engine/training/reference_model.h"
#include "engine/training/torch_pipeline.h"

namespace trainmem {

namespace {

Tensor make_positions(const Recipe& recipe) {
  Tensor positions = allocate({recipe.sequence_length}, DType::int64, {&input_rule, "positions"});
  note_kept(positions, input_rule);
  return positions;
}

/// torchtitan trainer.py, post_dataloading_process: the mask of blocks that FlexAttention reads, with what its function
/// of positions captures. models/common/attention.py: get_efficient_causal_mask_mod_for_packed_document;
/// pytorch torch/nn/attention/flex_attention.py: BlockMask.
std::vector<Tensor> make_block_mask(const Recipe& recipe) {
  constexpr std::int64_t block = 128;
  const Size tokens = recipe.micro_batch_size * Size(recipe.sequence_length);
  const Size blocks = ceil_divide(tokens, block);
  std::vector<Tensor> mask;
  const auto integers = [&](const Shape& shape, const char* role) {
    mask.push_back(allocate(shape, DType::int32, {&input_rule, role}));
    note_kept(mask.back(), input_rule);
  };
  integers({tokens}, "document of each token");
  integers({round_up(tokens + 1, block)}, "where documents begin");
  for (int i = 0; i < 4; ++i) {  // partial and full blocks, of queries and of keys
    integers({1, 1, blocks}, "mask: number of blocks");
    integers({1, 1, blocks, blocks}, "mask: blocks");
  }
  return mask;
}

/// What a framework's loop lets go of before it has to, and what it holds for longer.
struct Loop {
  bool drops_logits = false;  ///< before backward
  bool drops_labels = false;  ///< before backward
  bool drops_losses = false;  ///< a micro-batch's, as soon as it is part of the mean
  bool holds_tokens = false;  ///< through the optimizer's step, until the next micro-batch comes
  bool holds_labels = false;  ///< the same
  bool holds_logits = false;  ///< until the next micro-batch has logits of its own
  bool copies_batch = false;  ///< for metrics, which it evaluates after backward
  bool adds_shards = false;   ///< FSDP: every micro-batch reduces its gradients
};

Loop loop_of(const Recipe& recipe) {
  Loop loop;
  loop.drops_logits = recipe.training_loop == TrainingLoop::trainer;
  if (recipe.framework == Framework::torchtitan) {  // train.py: del pred; a step holds the losses' mean alone
    loop.drops_logits = true;
    loop.drops_losses = true;
    // trainer.py, train_step: what a micro-batch was given are variables of the step.
    loop.holds_tokens = loop.holds_labels = recipe.torchtitan_release == TorchtitanRelease::current;
  }
  if (recipe.framework == Framework::torchtune) {  // recipes/: batch.pop("labels"), del logits; batch is not deleted
    loop.drops_logits = true;
    loop.drops_labels = true;
    loop.holds_tokens = true;
  }
  if (recipe.framework == Framework::litgpt) {  // finetune/full.py, lora.py: fit(), whose variables are assigned anew
    loop.drops_logits = false;
    loop.holds_tokens = true;
    loop.holds_labels = true;
    loop.holds_logits = true;
  }
  if (recipe.framework == Framework::llm_foundry) {  // composer trainer/trainer.py: _train_microbatch, state.outputs
    loop.drops_logits = false;
    loop.holds_logits = true;
    loop.copies_batch = true;
  }
  loop.adds_shards = reduces_each_micro_batch(recipe);
  return loop;
}

/// FSDP2 and tensor parallelism each make DTensors of the parameters.
int dtensor_meshes(const Recipe& r) {
  const bool sharded = uses_fsdp2(r) && r.data_parallel_size * r.context_parallel > 1;
  return (sharded ? 1 : 0) + (r.tensor_parallel > 1 ? 1 : 0);
}

bool is_current(const Recipe& recipe) { return recipe.transformers_release == TransformersRelease::current; }

/// TRL trainer/utils.py: disable_dropout_in_model, which trainers of preferences call.
double adapter_dropout(const Recipe& recipe) { return takes_preferences(recipe) ? 0.0 : recipe.lora.dropout; }

class Training {
 public:
  Training(const Config& config, const StepOptions& options, Run& run)
      : config_(config),
        options_(options),
        run_(run),
        formats_(formats(config.recipe)),
        loop_(loop_of(config.recipe)) {}

  void operator()() {
    const Recipe& recipe = config_.recipe;
    run_.folding.marks_layers = options_.fold;
    run_.begin_phase(0, Phase::initialise, "init");
    put_in_force(recipe);
    if (recipe.data_parallel == DataParallel::fsdp) wrapper_ = make_fsdp(config_);
    if (uses_zero(recipe)) zero_ = make_zero(recipe);
    if (divides_by_dtensors(recipe) && recipe.framework != Framework::torchtitan) positions_ = make_positions(recipe);
    if (recipe.pipeline_parallel > 1) {
      TorchPipeline pipeline(config_, options_, wrapper_.get());
      make_optimizer();
      for (std::int32_t step = 1; step <= options_.steps; ++step) {
        pipeline.run(step);
        end_step(step);
      }
      run_.closed = true;
      return;
    }
    const bool gathers_all = holds_reference(recipe) && uses_fsdp2(recipe);  // in one group, with all layers
    const std::vector<LayerSlot> slots = layer_slots(config_.model, recipe, options_.fold && !zero_ && !gathers_all);
    const Model trained = trained_model(config_);
    const Model description = takes_preferences(recipe) ? without_dropout_modules(trained) : trained;
    CausalModel model(make_architecture(description, recipe), slots, recipe, wrapper_.get());
    objective_ = make_objective(config_, slots, run_);
    if (!zero_ && recipe.data_parallel == DataParallel::ddp && recipe.data_parallel_size > 1) {
      run_.begin_phase(0, Phase::initialise, "wrap");
      ddp_ = std::make_unique<Ddp>(recipe.gradient_as_bucket_view);
    }
    make_optimizer();
    for (std::int32_t step = 1; step <= options_.steps && !has_reached_enough(); ++step) {
      micro_batches(model, step);
      end_step(step);
    }
    run_.closed = true;
  }

 private:
  /// The recipe's settings that operations and modules look up where they run.
  void put_in_force(const Recipe& recipe) {
    run_.new_parameters.frozen = recipe.lora.rank > 0;
    ModelSettings& settings = run_.settings;
    // torchtune's checkpoints (training/activations.py) and litgpt's (FSDPStrategy) are not re-entrant and need none.
    const bool others = recipe.framework == Framework::torchtune || recipe.framework == Framework::litgpt;
    // transformers modeling_utils.py, gradient_checkpointing_enable: since 5, whatever it is that is frozen.
    const bool freezes = recipe.lora.rank > 0 || (recipe.frozen_layers > 0 && is_current(recipe));
    settings.inputs_want_gradient = freezes && recipe.recomputation != Recomputation::none && !others;
    settings.takes_attention_mask = recipe.objective != Objective::next_token || recipe.padding;
    settings.padding = recipe.padding;
    settings.fine_tuning = {recipe.lora.rank,       adapter_targets(config_), adapter_dropout(recipe),
                            adapter_format(recipe), recipe.quantization,      recipe.lora.fused};
    settings.legacy_models =
        recipe.loss == Loss::legacy || recipe.transformers_release == TransformersRelease::before_4_46;
    settings.fused = {recipe.fused_norm, recipe.fused_mlp, recipe.fused_rope, recipe.fast_path};
    settings.compiles_blocks = recipe.compile_blocks;
    if (divides_by_dtensors(recipe))
      settings.tensor_parallel = {recipe.tensor_parallel, recipe.sequence_parallel,
                                  recipe.loss == Loss::vocabulary_parallel};
    settings.offload_checkpoints = recipe.offload_checkpoints;
    settings.context_parallel = {recipe.context_parallel, recipe.context_parallel_method};
    settings.expert_parallel = {recipe.expert_parallel, recipe.expert_imbalance};
  }

  void make_optimizer() {
    if (zero_) {
      run_.begin_phase(0, Phase::initialise, "wrap");
      zero_->wrap();
    } else if (!steps_in_host_memory()) {
      optimizer_ = std::make_unique<OptimizerStep>(config_.recipe, formats_, dtensor_meshes(config_.recipe));
    }
  }

  void end_step(std::int32_t step) {
    const std::string name = "step " + std::to_string(step);
    run_.begin_phase(step, Phase::optimizer_step, name + " optimizer");
    if (zero_) zero_->step();
    if (optimizer_) optimizer_->step();
    if (takes_positions()) let_go_of_inputs();
    run_.begin_phase(step, Phase::optimizer_step, name + " zero_grad");
    // ZeRO lets go of gradients in backward and step; a graph's gradients stay where they are.
    if (optimizer_ && !uses_cuda_graphs(config_.recipe)) optimizer_->zero_grad();
  }

  bool has_reached_enough() const {
    return options_.enough != no_limit && highest(fold(run_.tape)).peak.total >= options_.enough;
  }

  /// FSDP's CPUOffloadPolicy: the optimizer steps the shards where they are.
  bool steps_in_host_memory() const { return wrapper_ != nullptr && config_.recipe.offload_parameters; }

  void micro_batches(CausalModel& model, std::int32_t step) {
    const std::int64_t count = config_.recipe.gradient_accumulation_steps;
    Tensor labels = std::move(labels_);
    // The first micro-batch makes the gradients, the others add to them, and only the last one may reduce them: three
    // stand for any number.
    const bool shortened = (options_.fold || options_.short_accumulation) && count > 3;
    const std::int64_t run = shortened ? 3 : count;
    if (objective_) objective_->begin_step(model, step, run);
    for (std::int64_t i = 1; i <= run; ++i) {
      const Repeat repeat(options_.fold && shortened && i == 2 ? Size(count) - Size(2) : Size(1));
      std::string name = "step " + std::to_string(step);
      if (count > 1) name += " micro-batch " + std::to_string(i);
      if (wrapper_) wrapper_->set_last_micro_batch(i == run || loop_.adds_shards);
      if (ddp_) ddp_->set_last_micro_batch(i == run);
      if (zero_) zero_->set_last_micro_batch(i == run);
      micro_batch(model, step, name, labels, i == run);
      keep_inputs();
    }
    if (objective_) objective_->end_micro_batches();
    if (!loop_.holds_tokens) ids_.reset();
    attention_mask_.reset();
    run_.attention_mask.reset();
    if (loop_.holds_labels) labels_ = std::move(labels);
  }

  void micro_batch(CausalModel& model, std::int32_t step, const std::string& name, Tensor& labels, bool last) {
    run_.begin_phase(step, Phase::forward, name + " forward");
    ids_.reset();
    labels.reset();
    attention_mask_.reset();
    run_.attention_mask.reset();
    if (objective_) {
      const Tensor loss = objective_->loss(model, step, name + " forward");
      return differentiate(is_scaled() ? scalar_operation(loss) : loss, step, name, last);
    }
    ids_ = make_tokens(config_.recipe, "token ids");
    Tensor token_mask;
    if (config_.recipe.padding)
      token_mask = run_.attention_mask = make_tokens(config_.recipe, "attention mask");
    else if (config_.model.experts.router_auxiliary_loss == RouterAuxiliaryLoss::masked)
      token_mask = make_tokens(config_.recipe, "attention mask");
    std::vector<Tensor> mask;
    if (loop_.copies_batch) {
      attention_mask_ = llm_foundry::attention_mask(config_.recipe);
      mask = llm_foundry::copy_of_batch(config_.recipe);
    }
    if (takes_positions()) positions_ = make_tokens(config_.recipe, "positions");
    labels = make_tokens(config_.recipe, "labels");
    if (takes_positions()) mask = make_block_mask(config_.recipe);
    Tensor logits = std::move(logits_);
    Tensor loss;
    if (config_.recipe.loss == Loss::label_smoothing) {
      const Tensor output = ModelOutput(config_.recipe).logits(model, {ids_, token_mask});
      run_.begin_phase(step, Phase::loss, name + " forward");
      const Place place("loss", Component::logits_and_loss);
      loss = label_smoothing_loss(output, labels);
    } else {
      const AutocastScope autocast(Autocast::in(formats_.autocast));
      logits = model.forward(ids_);
      run_.begin_phase(step, Phase::loss, name + " forward");
      loss = model.loss(logits, labels, token_mask);
    }
    if (loop_.drops_logits) {
      logits.reset();
      model.drop_output();
    }
    if (loop_.drops_labels) labels.reset();
    Tensor mean;  // of the loss over the micro-batches
    if (is_scaled()) {
      mean = scalar_operation(loss);
      if (loop_.drops_losses) loss.reset();
    }
    differentiate(mean.defined() ? mean : loss, step, name, last);
    if (loop_.copies_batch) llm_foundry::evaluate_metrics(logits, labels);
    if (loop_.holds_logits) logits_ = std::move(logits);
    let_go(mask);
    model.drop_output();
  }

  bool is_scaled() const { return config_.recipe.gradient_accumulation_steps > 1; }

  void differentiate(const Tensor& loss, std::int32_t step, const std::string& name, bool last) {
    run_.begin_phase(step, Phase::backward, name + " backward");
    run_backward(loss, [this, last] {
      if (wrapper_) wrapper_->end_backward();
      if (zero_) zero_->end_backward();
      if (zero_ && last) zero_->reduce();
    });
  }

  /// What a micro-batch was given stays on the GPU until the step has ended: its lists of micro-batches hold it. Of
  /// more than three, which stand for each other, the last one's alone: 16 bytes for each token of the others.
  void keep_inputs() {
    if (takes_positions() && config_.recipe.gradient_accumulation_steps <= 3)
      given_.push_back({std::move(ids_), std::move(positions_)});
  }

  void let_go_of_inputs() {
    for (Given& given : given_) {
      given.ids.reset();
      given.positions.reset();
    }
    given_.clear();
    ids_.reset();
    labels_.reset();
    positions_.reset();
  }

  /// Today's torchtitan: every forward is given positions and masks.
  bool takes_positions() const {
    return config_.recipe.framework == Framework::torchtitan &&
           config_.recipe.torchtitan_release == TorchtitanRelease::current;
  }

  const Config& config_;
  const StepOptions options_;
  Run& run_;
  const Formats formats_;
  const Loop loop_;
  std::unique_ptr<ModuleWrapper> wrapper_;
  Tensor ids_;             ///< of the current micro-batch
  Tensor labels_;          ///< of the last micro-batch, where the loop holds them
  Tensor logits_;          ///< the same
  Tensor attention_mask_;  ///< beside them, where the loop has one
  Tensor positions_;       ///< passed to a model whose embeddings are shards, or to today's torchtitan
  struct Given {
    Tensor ids, positions;
  };
  std::vector<Given> given_;                  ///< of earlier micro-batches, where the loop holds them
  std::unique_ptr<ObjectiveStep> objective_;  ///< null: the next token
  std::unique_ptr<Ddp> ddp_;
  std::unique_ptr<Zero> zero_;
  std::unique_ptr<OptimizerStep> optimizer_;  ///< none: ZeRO's own, or one in host memory
};

}  // namespace

Recording run_training(const Config& config, const StepOptions& options) {
  if (config.recipe.framework == Framework::megatron) return run_megatron(config, options);
  if (uses_megatron_deepspeed(config.recipe)) return run_megatron_deepspeed(config, options);
  return record([&](Run& run) { Training(config, options, run)(); });
}

}  // namespace trainmem
