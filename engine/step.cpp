#include "engine/step.h"

#include <string>

#include "engine/blocks/causal_model.h"
#include "engine/blocks/conventions.h"
#include "engine/config/formats.h"
#include "engine/optimizer/step.h"
#include "engine/parallel/ddp.h"
#include "engine/parallel/fsdp.h"
#include "engine/parallel/fsdp1.h"
#include "engine/parallel/megatron.h"
#include "engine/parallel/megatron_deepspeed.h"
#include "engine/parallel/tensor.h"
#include "engine/parallel/torch_pipeline.h"
#include "engine/parallel/zero.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/record.h"

namespace trainmem {

namespace {

constexpr Rule input_rule{"input", "token ids and labels of the batch", "the training loop"};

Tensor make_tokens(const Recipe& recipe, const char* role) {
  const Size sequence = Size(recipe.sequence_length) / Size(recipe.context_parallel);
  Tensor tokens = allocate({recipe.micro_batch_size, sequence}, DType::int64, {&input_rule, role});
  note_kept(tokens, input_rule);
  return tokens;
}

/// torchtitan config/job_config.py: mixed_precision_reduce is float32 unless said otherwise.
DType reduction_format(const Recipe& recipe) {
  const bool automatic = recipe.gradient_reduce_dtype == DType::automatic;
  return automatic && recipe.framework == Framework::torchtitan ? DType::float32 : recipe.gradient_reduce_dtype;
}

Tensor make_positions(const Recipe& recipe) {
  Tensor positions = allocate({recipe.sequence_length}, DType::int64, {&input_rule, "positions"});
  note_kept(positions, input_rule);
  return positions;
}

/// What a framework's loop lets go of before it has to, and what it holds for longer.
struct Loop {
  bool drops_logits = false;  ///< before backward
  bool drops_labels = false;  ///< before backward
  bool drops_losses = false;  ///< a micro-batch's, as soon as it is part of the mean
  bool holds_tokens = false;  ///< through the optimizer's step, until the next micro-batch comes
  bool holds_labels = false;  ///< the same
  bool holds_logits = false;  ///< until the next micro-batch has logits of its own
};

Loop loop_of(const Recipe& recipe) {
  Loop loop;
  loop.drops_logits = recipe.training_loop == TrainingLoop::trainer;
  if (recipe.framework == Framework::torchtitan) {  // train.py: del pred; a step holds the losses' mean alone
    loop.drops_logits = true;
    loop.drops_losses = true;
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
  return loop;
}

/// Of LoRA's weights. peft keeps adapters of a 16-bit model in fp32 (autocast_adapter_dtype). DeepSpeed casts the whole
/// module: deepspeed/runtime/engine.py, _configure_distributed_model. torchtune makes all in one format:
/// recipes/lora_finetune_single_device.py, _setup_model. So does litgpt: finetune/lora.py, main.
DType adapter_dtype(const Recipe& recipe, DType weights) {
  if (recipe.lora.adapter_dtype != DType::automatic) return recipe.lora.adapter_dtype;
  const bool as_weights =
      uses_zero(recipe) || recipe.framework == Framework::torchtune || recipe.framework == Framework::litgpt;
  return as_weights ? weights : DType::float32;
}

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
    wrapper_ = make_wrapper();
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
    CausalModel model(make_architecture(config_.model, recipe),
                      layer_slots(config_.model, recipe, options_.fold && !zero_), recipe, wrapper_.get());
    if (!zero_ && recipe.data_parallel == DataParallel::ddp && recipe.data_parallel_size > 1) {
      run_.begin_phase(0, Phase::initialise, "wrap");
      ddp_ = std::make_unique<Ddp>(recipe.gradient_as_bucket_view);
    }
    make_optimizer();
    for (std::int32_t step = 1; step <= options_.steps; ++step) {
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
    settings.inputs_want_gradient = recipe.lora.rank > 0 && recipe.recomputation != Recomputation::none && !others;
    settings.fine_tuning = {recipe.lora.rank, recipe.lora.targets, recipe.lora.dropout,
                            adapter_dtype(recipe, formats_.weights), recipe.quantization};
    settings.legacy_models =
        recipe.loss == Loss::legacy || recipe.transformers_release == TransformersRelease::before_4_46;
    settings.fused = {recipe.fused_norm, recipe.fused_mlp, recipe.fused_rope};
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
      optimizer_ = std::make_unique<OptimizerStep>(config_.recipe, formats_);
    }
  }

  void end_step(std::int32_t step) {
    const std::string name = "step " + std::to_string(step);
    run_.begin_phase(step, Phase::optimizer_step, name + " optimizer");
    if (zero_) zero_->step();
    if (optimizer_) optimizer_->step();
    run_.begin_phase(step, Phase::optimizer_step, name + " zero_grad");
    if (optimizer_) optimizer_->zero_grad();  // ZeRO lets go of gradients in backward and step
  }

  /// FSDP's CPUOffloadPolicy: the optimizer steps the shards where they are.
  bool steps_in_host_memory() const { return wrapper_ != nullptr && config_.recipe.offload_parameters; }

  std::unique_ptr<ModuleWrapper> make_wrapper() const {
    const Recipe& recipe = config_.recipe;
    // Context-parallel GPUs hold the same weights: they share the shards, too (torchtitan: dp_shard_cp).
    const Size group = recipe.hybrid_shard_size > 0 ? Size(recipe.hybrid_shard_size) : recipe.data_parallel_size;
    const Size shards = group * Size(recipe.context_parallel);
    if (recipe.data_parallel != DataParallel::fsdp) return nullptr;
    // On one GPU FSDP2 still has the mixed precision: torchtitan distributed/parallel_dims.py, _mesh_exist.
    // FSDP1 switches to NO_SHARD; litgpt does without (fabric.launch of one device).
    const bool whole = recipe.fsdp_version == 1 && recipe.framework != Framework::litgpt;
    if (shards == 1 && !whole && recipe.precision != Precision::fsdp_bf16) return nullptr;
    ShardedFormats formats{formats_.computation, reduction_format(recipe), recipe.offload_parameters};
    // Without mixed precision weights are gathered in their own formats: adapters in fp32 beside weights in 16 bits.
    const bool mixed = recipe.precision == Precision::fsdp_bf16 || recipe.precision == Precision::fp8 ||
                       recipe.activations_dtype != DType::automatic;
    if (!mixed) formats.parameters = DType::automatic;
    if (recipe.fsdp_version == 1) {
      Fsdp1Words words;
      words.shards = shards;
      words.replicated = group < Size(recipe.data_parallel_size);
      words.stays_gathered = recipe.reshard_after_forward == Reshard::never;
      words.forward_prefetch = recipe.fsdp_forward_prefetch;
      const bool shards_what_recomputes =
          conventions_of(recipe, config_.model, run_.settings.legacy_models).shards_what_recomputes;
      words.inside_recomputation =
          recipe.recomputation != Recomputation::none && recipe.recomputation_reentrant && !shards_what_recomputes;
      words.backward_prefetch = recipe.fsdp_backward_prefetch;
      return std::make_unique<Fsdp1>(words, formats);
    }
    // torchtitan models/llama3/infra/parallelize.py, apply_fsdp: with a pipeline weights stay gathered.
    const Reshard reshard = recipe.reshard_after_forward;
    const bool by_default = reshard == Reshard::automatic || reshard == Reshard::all_but_last;
    const bool stays = recipe.pipeline_parallel > 1 && by_default;
    const Sharding sharding{shards, group < Size(recipe.data_parallel_size), recipe.expert_parallel};
    return std::make_unique<Fsdp>(sharding, formats, stays ? Reshard::never : reshard);
  }

  void micro_batches(CausalModel& model, std::int32_t step) {
    const std::int64_t count = config_.recipe.gradient_accumulation_steps;
    Tensor labels = std::move(labels_);
    // The first micro-batch makes the gradients, the others add to them, and only the last one may reduce them: three
    // stand for any number.
    const bool shortened = (options_.fold || options_.short_accumulation) && count > 3;
    const std::int64_t run = shortened ? 3 : count;
    for (std::int64_t i = 1; i <= run; ++i) {
      const Repeat repeat(options_.fold && shortened && i == 2 ? Size(count) - Size(2) : Size(1));
      std::string name = "step " + std::to_string(step);
      if (count > 1) name += " micro-batch " + std::to_string(i);
      if (wrapper_) wrapper_->set_last_micro_batch(i == run);
      if (ddp_) ddp_->set_last_micro_batch(i == run);
      micro_batch(model, step, name, labels, i == run);
    }
    if (!loop_.holds_tokens) ids_.reset();
    if (loop_.holds_labels) labels_ = std::move(labels);
  }

  void micro_batch(CausalModel& model, std::int32_t step, const std::string& name, Tensor& labels, bool last) {
    run_.begin_phase(step, Phase::forward, name + " forward");
    ids_.reset();
    labels.reset();
    ids_ = make_tokens(config_.recipe, "token ids");
    labels = make_tokens(config_.recipe, "labels");
    Tensor logits = std::move(logits_);
    Tensor loss;
    {
      const AutocastScope autocast(formats_.autocast == DType::automatic ? Autocast{}
                                                                         : Autocast{true, formats_.autocast});
      logits = model.forward(ids_);
      run_.begin_phase(step, Phase::loss, name + " forward");
      loss = model.loss(logits, labels);
    }
    if (loop_.drops_logits) logits.reset();
    if (loop_.drops_labels) labels.reset();
    Tensor mean;  // of the loss over the micro-batches
    if (config_.recipe.gradient_accumulation_steps > 1) {
      mean = scalar_operation(loss);
      if (loop_.drops_losses) loss.reset();
    }
    run_.begin_phase(step, Phase::backward, name + " backward");
    if (zero_) zero_->begin_backward(last);
    run_backward(mean.defined() ? mean : loss, [this, last] {
      if (wrapper_) wrapper_->end_backward();
      if (zero_) zero_->end_backward(last);
    });
    if (loop_.holds_logits) logits_ = std::move(logits);
  }

  const Config& config_;
  const StepOptions options_;
  Run& run_;
  const Formats formats_;
  const Loop loop_;
  std::unique_ptr<ModuleWrapper> wrapper_;
  Tensor ids_;        ///< of the current micro-batch
  Tensor labels_;     ///< of the last micro-batch, where the loop holds them
  Tensor logits_;     ///< the same
  Tensor positions_;  ///< passed to a model whose embeddings are shards
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
