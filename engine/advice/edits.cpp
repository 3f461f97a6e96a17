#include "engine/advice/edits.h"

#include <string>

#include "engine/config/layer_types.h"
#include "engine/config/shard_group.h"

namespace trainmem {

namespace {

template <class Value>
bool set(Value& member, Value value) {
  if (member == value) return false;
  member = value;
  return true;
}

bool is_megatron(const Config& c) { return c.recipe.framework == Framework::megatron; }

bool is_16_bit(Precision precision) { return precision == Precision::bf16 || precision == Precision::fp16; }

bool shards_weights(const Recipe& recipe) {
  return recipe.data_parallel == DataParallel::fsdp || recipe.data_parallel == DataParallel::zero3;
}

/// More data-parallel GPUs see the same global batch, where the accumulation steps divide.
void widen_data_parallel(Recipe& recipe, std::int64_t factor) {
  recipe.data_parallel_size *= factor;
  if (recipe.gradient_accumulation_steps % factor == 0) recipe.gradient_accumulation_steps /= factor;
}

/// `ways` GPUs in place of `dimension`, taken from the data-parallel ones where those divide: then there are as many
/// GPUs and sequences a step as before. False if that is not a multiple of what there is.
template <class Count>
bool regroup(Recipe& r, Count& dimension, std::int64_t ways) {
  const std::int64_t now = dimension;
  if (ways <= now || ways % now != 0) return false;
  const std::int64_t factor = ways / now;
  if (r.data_parallel_size % factor == 0) {
    r.data_parallel_size /= factor;
    r.gradient_accumulation_steps *= factor;
  }
  dimension = ways;
  return true;
}

}  // namespace

void fit_for_fsdp(Recipe& r) {
  if (r.precision == Precision::bf16_mixed || r.precision == Precision::bf16_autocast)
    r.precision = Precision::fsdp_bf16;
  if (r.loss == Loss::fused_linear || r.loss == Loss::chunked) r.fsdp_wrap_embeddings = false;
}

bool smaller_micro_batch(Config& c, std::int64_t factor) {
  Recipe& r = c.recipe;
  if (factor == 0) factor = r.micro_batch_size;
  if (factor < 2 || r.micro_batch_size % factor != 0) return false;
  r.micro_batch_size /= factor;
  r.gradient_accumulation_steps *= factor;
  return true;
}

bool attention_kernel(Config& c, std::int64_t kernel) {
  const bool torch_name = static_cast<AttentionKernel>(kernel) == AttentionKernel::sdpa;
  return !(torch_name && is_megatron(c)) && set(c.recipe.attention, static_cast<AttentionKernel>(kernel));
}

bool layer_kernels(Config& c, std::int64_t) {
  const bool has_some = has_mamba(c.model) || has_layer_type(c.model, LayerType::conv) ||
                        has_layer_type(c.model, LayerType::linear_attention);
  return has_some && turn_on<&Recipe::fast_path>(c, 0);
}

bool loss_kind(Config& c, std::int64_t kind) {
  return c.recipe.loss != Loss::label_smoothing && set(c.recipe.loss, static_cast<Loss>(kind));
}

bool pack_sequences(Config& c, std::int64_t) {
  return c.recipe.objective == Objective::next_token && c.recipe.padding && set(c.recipe.padding, false);
}

bool optimizer_step(Config& c, std::int64_t kind) {
  return set(c.recipe.optimizer_implementation, static_cast<OptimizerImplementation>(kind));
}

bool optimizer_kind(Config& c, std::int64_t kind) { return set(c.recipe.optimizer, static_cast<Optimizer>(kind)); }

bool step_in_backward(Config& c, std::int64_t) {
  c.recipe.gradient_clipping = false;
  return optimizer_step(c, static_cast<std::int64_t>(OptimizerImplementation::in_backward));
}

bool moments_16_bit(Config& c, std::int64_t) {
  return is_megatron(c) && c.recipe.distributed_optimizer && set(c.recipe.optimizer_state_dtype, DType::bfloat16);
}

bool recomputation_kind(Config& c, std::int64_t kind) {
  Recipe& r = c.recipe;
  const auto wanted = static_cast<Recomputation>(kind);
  if (r.recomputation == Recomputation::full && r.recomputation_layers == 0) return false;
  if (wanted == Recomputation::every_k) r.recomputation_interval = 2;
  r.recomputation_layers = 0;
  return set(r.recomputation, wanted);
}

bool recompute_modules(Config& c, std::int64_t mlp) {
  Recipe& r = c.recipe;
  if (!is_megatron(c) || r.recomputation == Recomputation::full) return false;
  const bool attention = r.recomputation == Recomputation::selective_attention ||
                         (r.recomputation == Recomputation::selective_modules &&
                          r.recomputation_modules.find("core_attn") != std::string::npos);
  r.recomputation = Recomputation::selective_modules;
  return set(r.recomputation_modules,
             std::string(attention ? "core_attn," : "") + (mlp == 1 ? "layernorm,mlp" : "layernorm"));
}

bool plain_schedule(Config& c, std::int64_t schedule) {
  if (c.recipe.pipeline_parallel < 2 || c.recipe.pipeline_schedule != static_cast<PipelineSchedule>(schedule))
    return false;
  c.recipe.virtual_pipeline_stages = 1;
  return set(c.recipe.pipeline_schedule, PipelineSchedule::one_forward_one_backward);
}

bool bucket_view(Config& c, std::int64_t) {
  return c.recipe.data_parallel == DataParallel::ddp && c.recipe.data_parallel_size > 1 &&
         set(c.recipe.gradient_as_bucket_view, true);
}

bool distributed_optimizer(Config& c, std::int64_t) {
  return is_megatron(c) && c.recipe.data_parallel_size > 1 && set(c.recipe.distributed_optimizer, true);
}

bool sequence_parallel(Config& c, std::int64_t) {
  return c.recipe.tensor_parallel > 1 && set(c.recipe.sequence_parallel, true);
}

bool reshard(Config& c, std::int64_t) {
  return c.recipe.data_parallel == DataParallel::fsdp && c.recipe.reshard_after_forward == Reshard::never &&
         set(c.recipe.reshard_after_forward, Reshard::always);
}

bool shard_states(Config& c, std::int64_t kind) {
  const auto wanted = static_cast<DataParallel>(kind);
  Recipe& r = c.recipe;
  if (r.data_parallel_size < 2 || is_megatron(c)) return false;
  if (shards_weights(r) || wanted <= r.data_parallel) return false;
  const bool zero = wanted != DataParallel::fsdp;
  // ZeRO trains with fp32 master weights, FSDP in the precision that the recipe has.
  if (zero && (is_16_bit(r.precision) || r.precision == Precision::bf16_autocast)) r.precision = Precision::bf16_mixed;
  if (zero && r.precision == Precision::fp16_autocast) r.precision = Precision::fp16_mixed;
  if (!zero) fit_for_fsdp(r);
  r.data_parallel = wanted;
  return true;
}

bool shard_over_all(Config& c, std::int64_t) {
  return is_hybrid(c.recipe) && set(c.recipe.hybrid_shard_size, std::int64_t{0});
}

bool offload_parameters(Config& c, std::int64_t) {
  return shards_weights(c.recipe) && set(c.recipe.offload_parameters, true);
}

bool shard_over_more_gpus(Config& c, std::int64_t factor) {
  Recipe& r = c.recipe;
  if (is_megatron(c)) {
    r.distributed_optimizer = r.data_parallel == DataParallel::ddp;
  } else if (r.data_parallel == DataParallel::ddp) {
    r.data_parallel = DataParallel::fsdp;
  }
  if (r.data_parallel == DataParallel::fsdp) fit_for_fsdp(r);
  widen_data_parallel(r, factor);
  return true;
}

bool split_layers(Config& c, std::int64_t ways) {
  if (!regroup(c.recipe, c.recipe.tensor_parallel, ways)) return false;
  c.recipe.sequence_parallel = true;
  return true;
}

bool split_experts(Config& c, std::int64_t ways) {
  if (c.model.experts.num_experts == 0 || ways <= c.recipe.expert_parallel) return false;
  return set(c.recipe.expert_parallel, ways);
}

bool precompute_reference(Config& c, std::int64_t) {
  const bool compares = c.recipe.objective == Objective::dpo || c.recipe.objective == Objective::kto;
  return compares && set(c.recipe.reference_model, ReferenceModel::precomputed);
}

bool vllm_sleeps(Config& c, std::int64_t) {
  return c.recipe.objective == Objective::grpo && set(c.recipe.vllm_memory_fraction, 0.0);
}

bool split_model(Config& c, std::int64_t stages) {
  Recipe& r = c.recipe;
  if (!regroup(r, r.pipeline_parallel, stages)) return false;
  // A pipeline with fewer micro-batches than stages stands still most of the time.
  if (r.gradient_accumulation_steps < stages) r.gradient_accumulation_steps = stages;
  return true;
}

bool split_sequence(Config& c, std::int64_t ways) { return regroup(c.recipe, c.recipe.context_parallel, ways); }

/// Adapters on experts' stacked weights cost a copy of these in every forward (blocks/transformers/expert_adapter.h).
constexpr const char* beside_experts = "q,k,v,o";

bool adapters(Config& c, std::int64_t rank) {
  if (c.recipe.lora.rank > 0) return false;
  c.recipe.lora.rank = rank;
  c.recipe.frozen_layers = 0;
  c.recipe.frozen_head = false;
  if (c.model.experts.num_experts > 0) c.recipe.lora.targets = beside_experts;
  return true;
}

bool quantised_adapters(Config& c, std::int64_t rank) {
  if (c.recipe.quantization != Quantization::none) return false;
  if (c.recipe.lora.rank == 0) adapters(c, rank);
  c.recipe.quantization = Quantization::nf4_double;
  return true;
}

bool lower_precision(Config& c, std::int64_t) {
  Recipe& r = c.recipe;
  if (r.precision == Precision::fp32) return set(r.precision, Precision::bf16_autocast);
  return false;
}

bool pure_16_bit(Config& c, std::int64_t) {
  switch (c.recipe.precision) {
    case Precision::fp32:
    case Precision::bf16_autocast:
    case Precision::bf16_mixed:
    case Precision::fsdp_bf16: return set(c.recipe.precision, Precision::bf16);
    case Precision::fp16_autocast:
    case Precision::fp16_mixed: return set(c.recipe.precision, Precision::fp16);
    default: return false;
  }
}

}  // namespace trainmem
