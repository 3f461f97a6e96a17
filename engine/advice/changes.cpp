#include "engine/advice/changes.h"

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

/// More data-parallel GPUs see the same global batch, where the accumulation steps divide.
void widen_data_parallel(Recipe& recipe, std::int64_t factor) {
  recipe.data_parallel_size *= factor;
  if (recipe.gradient_accumulation_steps % factor == 0) recipe.gradient_accumulation_steps /= factor;
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

bool loss_kind(Config& c, std::int64_t kind) { return set(c.recipe.loss, static_cast<Loss>(kind)); }

bool optimizer_step(Config& c, std::int64_t kind) {
  return set(c.recipe.optimizer_implementation, static_cast<OptimizerImplementation>(kind));
}

bool optimizer_kind(Config& c, std::int64_t kind) { return set(c.recipe.optimizer, static_cast<Optimizer>(kind)); }

bool recomputation_kind(Config& c, std::int64_t kind) {
  Recipe& r = c.recipe;
  const auto wanted = static_cast<Recomputation>(kind);
  if (r.recomputation == Recomputation::full && r.recomputation_layers == 0) return false;
  if (wanted == Recomputation::every_k) r.recomputation_interval = 2;
  r.recomputation_layers = 0;
  return set(r.recomputation, wanted);
}

bool shard_states(Config& c, std::int64_t kind) {
  const auto wanted = static_cast<DataParallel>(kind);
  Recipe& r = c.recipe;
  if (r.data_parallel_size < 2 || is_megatron(c)) return false;
  const bool fully = r.data_parallel == DataParallel::fsdp || r.data_parallel == DataParallel::zero3;
  if (fully || wanted <= r.data_parallel) return false;
  const bool zero = wanted != DataParallel::fsdp;
  // ZeRO trains with fp32 master weights, FSDP in the precision that the recipe has.
  if (zero && (is_16_bit(r.precision) || r.precision == Precision::bf16_autocast)) r.precision = Precision::bf16_mixed;
  if (zero && r.precision == Precision::fp16_autocast) r.precision = Precision::fp16_mixed;
  if (!zero && r.precision == Precision::bf16_mixed) r.precision = Precision::fsdp_bf16;
  r.data_parallel = wanted;
  return true;
}

/// Weights, gradients and states divided over `factor` times as many GPUs.
bool shard_over_more_gpus(Config& c, std::int64_t factor) {
  Recipe& r = c.recipe;
  if (is_megatron(c)) {
    r.distributed_optimizer = r.data_parallel == DataParallel::ddp;
  } else if (r.data_parallel == DataParallel::ddp) {
    r.data_parallel = DataParallel::fsdp;
  }
  widen_data_parallel(r, factor);
  return true;
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

bool split_layers(Config& c, std::int64_t ways) {
  if (!regroup(c.recipe, c.recipe.tensor_parallel, ways)) return false;
  c.recipe.sequence_parallel = true;
  return true;
}

bool split_model(Config& c, std::int64_t stages) {
  Recipe& r = c.recipe;
  if (!regroup(r, r.pipeline_parallel, stages)) return false;
  // A pipeline with fewer micro-batches than stages stands still most of the time.
  if (r.gradient_accumulation_steps < stages) r.gradient_accumulation_steps = stages;
  return true;
}

bool split_sequence(Config& c, std::int64_t ways) { return regroup(c.recipe, c.recipe.context_parallel, ways); }

bool adapters(Config& c, std::int64_t rank) {
  if (c.recipe.lora.rank > 0) return false;
  c.recipe.lora.rank = rank;
  return true;
}

bool quantised_adapters(Config& c, std::int64_t rank) {
  if (c.recipe.quantization != Quantization::none) return false;
  if (c.recipe.lora.rank == 0) c.recipe.lora.rank = rank;
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

template <class Enumeration>
constexpr std::int64_t of(Enumeration value) {
  return static_cast<std::int64_t>(value);
}

constexpr const char* same_batch =
    "The same tokens in more and smaller matrix products, which may fill the GPU less well.";
constexpr const char* korthikanti = "Korthikanti et al. 2022, arXiv:2205.05198";
constexpr const char* liger = "Hsu et al. 2024 (Liger Kernel), arXiv:2410.10989";
constexpr const char* zero_paper = "Rajbhandari et al. 2020, arXiv:1910.02054, section 7";
constexpr const char* more_gpus = "More GPUs; the same global batch where the accumulation steps divide.";
constexpr const char* split_gpus =
    "Two all-reduces of activations for each layer and pass, so best within one node; more GPUs unless data "
    "parallelism gives them up.";

constexpr Change changes[] = {
    {"smaller_micro_batch", "Smaller micro-batch, accumulated",
     "Activations and logits shrink with the sequences that are computed at once.", Cost::none, same_batch, "", 2,
     smaller_micro_batch},
    {"smaller_micro_batch", "Smaller micro-batch, accumulated",
     "Activations and logits shrink with the sequences that are computed at once.", Cost::none, same_batch, "", 4,
     smaller_micro_batch},
    {"smaller_micro_batch", "Micro-batch of one, accumulated",
     "Activations and logits shrink with the sequences that are computed at once.", Cost::none, same_batch, "", 0,
     smaller_micro_batch},
    {"fused_attention", "SDPA attention", "The scores, which grow with the square of the sequence, are never stored.",
     Cost::none, "Faster: the scores are not written to memory and read back.", "Dao et al. 2022, arXiv:2205.14135",
     of(AttentionKernel::sdpa), attention_kernel},
    {"fused_attention", "FlashAttention", "The scores, which grow with the square of the sequence, are never stored.",
     Cost::none, "Faster: the scores are not written to memory and read back.", "Dao et al. 2022, arXiv:2205.14135",
     of(AttentionKernel::flash), attention_kernel},
    {"plain_loss", "Logits as newer versions keep them", "One fp32 copy of the logits goes.", Cost::none,
     "Costs nothing: transformers does so from 4.46 on.", "", of(Loss::full), loss_kind},
    {"fused_loss", "Fused cross-entropy", "Softmax and its gradient take no tensors of their own.", Cost::none,
     "Faster: one kernel in place of several.", "", of(Loss::fused), loss_kind},
    {"chunked_loss", "Loss in chunks", "Logits exist for a part of the tokens at a time.", Cost::none,
     "The same arithmetic in more, smaller calls.", "", of(Loss::chunked), loss_kind},
    {"fused_linear_loss", "Head and loss fused", "Logits exist for a part of the tokens at a time, and only once.",
     Cost::none, "Faster, or nearly as fast: gradients are computed in the forward pass.", liger,
     of(Loss::fused_linear), loss_kind},
    {"vocabulary_parallel_loss", "Vocabulary-parallel loss", "Logits stay divided over the tensor-parallel GPUs.",
     Cost::none, "Less communication: sums are exchanged in place of logits.",
     "Shoeybi et al. 2019, arXiv:1909.08053, section 3", of(Loss::vocabulary_parallel), loss_kind},
    {"fused_step", "Fused optimizer step", "The step updates in place and has no temporaries.", Cost::none,
     "Faster: one kernel in place of several.", "PyTorch torch/optim/adamw.py, fused",
     of(OptimizerImplementation::fused), optimizer_step},
    {"fused_norm", "Fused norms", "A norm keeps its input and one number for each token.", Cost::none,
     "Faster: one kernel in place of several.", liger, 0,
     [](Config& c, std::int64_t) { return set(c.recipe.fused_norm, true); }},
    {"fused_mlp", "Fused MLP activation", "Gate, activation and product keep less between them.", Cost::none,
     "Faster: one kernel in place of several.", liger, 0,
     [](Config& c, std::int64_t) { return set(c.recipe.fused_mlp, true); }},
    {"fused_rope", "Fused rotary positions", "Turning queries and keys takes no temporaries.", Cost::none,
     "Faster: one kernel in place of several.", liger, 0,
     [](Config& c, std::int64_t) { return set(c.recipe.fused_rope, true); }},
    {"bucket_view", "Gradients as views of DDP's buckets", "Gradients and buckets are one memory.", Cost::none,
     "Costs nothing: a copy less.", "PyTorch DistributedDataParallel, gradient_as_bucket_view", 0,
     [](Config& c, std::int64_t) {
       return c.recipe.data_parallel == DataParallel::ddp && c.recipe.data_parallel_size > 1 &&
              set(c.recipe.gradient_as_bucket_view, true);
     }},
    {"expandable_segments", "Expandable segments", "The allocator's pools grow in place, so less of them lies unused.",
     Cost::none, "Costs nothing in most runs: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
     "PyTorch notes on CUDA semantics, memory management", 0,
     [](Config& c, std::int64_t) { return set(c.recipe.expandable_segments, true); }},
    {"distributed_optimizer", "Distributed optimizer", "Main weights and states are divided over data-parallel GPUs.",
     Cost::none, "As many bytes are exchanged: a reduce-scatter and an all-gather in place of an all-reduce.",
     zero_paper, 0,
     [](Config& c, std::int64_t) {
       return is_megatron(c) && c.recipe.data_parallel_size > 1 && set(c.recipe.distributed_optimizer, true);
     }},
    {"sequence_parallel", "Sequence parallelism", "Norms, dropouts and residuals are divided over the sequence too.",
     Cost::none, "As many bytes are exchanged: a reduce-scatter and an all-gather in place of an all-reduce.",
     korthikanti, 0,
     [](Config& c, std::int64_t) { return c.recipe.tensor_parallel > 1 && set(c.recipe.sequence_parallel, true); }},
    {"zero1", "ZeRO-1: optimizer states divided", "Each data-parallel GPU holds a part of the optimizer states.",
     Cost::none, "As many bytes are exchanged as by plain data parallelism.", zero_paper, of(DataParallel::zero1),
     shard_states},
    {"zero2", "ZeRO-2: gradients divided too", "Each data-parallel GPU holds a part of states and gradients.",
     Cost::none, "As many bytes are exchanged as by plain data parallelism.", zero_paper, of(DataParallel::zero2),
     shard_states},
    {"zero3", "ZeRO-3: weights divided too", "Each data-parallel GPU holds a part of weights, gradients and states.",
     Cost::speed, "1.5 times the bytes of plain data parallelism are exchanged.", zero_paper, of(DataParallel::zero3),
     shard_states},
    {"fsdp", "FSDP: weights, gradients and states divided",
     "Each data-parallel GPU holds a part; blocks are gathered as they compute.", Cost::speed,
     "1.5 times the bytes of plain data parallelism are exchanged, most of it behind computation.",
     "Zhao et al. 2023, arXiv:2304.11277", of(DataParallel::fsdp), shard_states},
    {"reshard", "FSDP frees gathered weights after forward", "Gathered blocks go when their forward has ended.",
     Cost::speed, "Weights are gathered once more in backward.", "Zhao et al. 2023, arXiv:2304.11277", 0,
     [](Config& c, std::int64_t) {
       return c.recipe.data_parallel == DataParallel::fsdp && c.recipe.reshard_after_forward == Reshard::never &&
              set(c.recipe.reshard_after_forward, Reshard::always);
     }},
    {"step_by_tensor", "Optimizer step tensor by tensor", "Temporaries exist for one tensor at a time.", Cost::speed,
     "The step itself is slower: a few kernels for each tensor.", "PyTorch torch/optim/adamw.py, foreach=False",
     of(OptimizerImplementation::for_loop), optimizer_step},
    {"step_in_backward", "Optimizer step inside backward", "A gradient goes as soon as it has been used.", Cost::speed,
     "No clipping by the total norm, no accumulation.",
     "PyTorch tutorial: how to save memory by fusing the optimizer "
     "step into the backward pass",
     of(OptimizerImplementation::in_backward),
     [](Config& c, std::int64_t kind) {
       c.recipe.gradient_clipping = false;
       return optimizer_step(c, kind);
     }},
    {"recompute_attention", "Recompute core attention", "Scores, softmax and dropout are computed again in backward.",
     Cost::speed, "2.7 % more arithmetic for GPT-3 175B, 1.6 % for MT-NLG 530B.", korthikanti,
     of(Recomputation::selective_attention), recomputation_kind},
    {"recompute_operations", "Recompute cheap operations",
     "Matrix products are kept, what lies between them is computed again in backward.", Cost::speed,
     "Less than a second forward: every second matrix product is computed again.",
     "torchtitan, selective activation checkpointing", of(Recomputation::selective_operations), recomputation_kind},
    {"recompute_every_second", "Recompute every second block", "Every second block keeps only its input.", Cost::speed,
     "About one sixth more arithmetic: half of the forward runs twice.", "Chen et al. 2016, arXiv:1604.06174",
     of(Recomputation::every_k), recomputation_kind},
    {"recompute_all", "Recompute every block", "Every block keeps only its input.", Cost::speed,
     "About a third more arithmetic: the forward runs twice. Measured: 30 to 40 % more time.", korthikanti,
     of(Recomputation::full), recomputation_kind},
    {"offload_checkpoints", "Block inputs in host memory", "What recomputation starts from waits in host memory.",
     Cost::speed, "Copies over PCIe, beside the computation.",
     "Rajbhandari et al. 2020 (ZeRO), arXiv:1910.02054, section 6.1: P_a+cpu", 0,
     [](Config& c, std::int64_t) { return set(c.recipe.offload_checkpoints, true); }},
    {"offload_optimizer", "Optimizer states in host memory", "States live in host memory, where the step runs.",
     Cost::speed, "Gradients and weights cross PCIe in every step.", "Ren et al. 2021 (ZeRO-Offload), arXiv:2101.06840",
     0, [](Config& c, std::int64_t) { return set(c.recipe.offload_optimizer, true); }},
    {"autocast", "bf16 autocast", "Activations of matrix products take two bytes in place of four.", Cost::numbers,
     "Faster on tensor cores; other rounding.", "Micikevicius et al. 2018, arXiv:1710.03740", 0, lower_precision},
    {"pure_16_bit", "16-bit weights and states", "Weights, gradients and states take two bytes for each value.",
     Cost::numbers, "Faster, but small updates round away without master weights.",
     "Micikevicius et al. 2018, arXiv:1710.03740, section 3.1", 0, pure_16_bit},
    {"adamw_8bit", "8-bit AdamW", "Both moments take one byte for each value.", Cost::numbers,
     "As fast; states are quantised in blocks, with the same results in the paper's tasks.",
     "Dettmers et al. 2022, arXiv:2110.02861", of(Optimizer::adamw_8bit), optimizer_kind},
    {"adafactor", "Adafactor", "The second moment is kept by rows and columns, the first not at all.", Cost::numbers,
     "Another optimizer: the learning rate has to be found again.", "Shazeer and Stern 2018, arXiv:1804.04235",
     of(Optimizer::adafactor), optimizer_kind},
    {"lion", "Lion", "One moment in place of two.", Cost::numbers,
     "Another optimizer: the learning rate has to be found again.", "Chen et al. 2023, arXiv:2302.06675",
     of(Optimizer::lion), optimizer_kind},
    {"lora", "LoRA, rank 16", "Weights are frozen: gradients and states exist for the adapters alone.", Cost::adapters,
     "Another training: small adapters learn, the model stays.", "Hu et al. 2021, arXiv:2106.09685", 16, adapters},
    {"qlora", "QLoRA, rank 16", "Frozen weights take half a byte each; only adapters are trained.", Cost::adapters,
     "Another training, and slower: weights are unpacked for every product.", "Dettmers et al. 2023, arXiv:2305.14314",
     16, quantised_adapters},
    {"more_gpus", "Divided over 2 times as many GPUs", "Each GPU holds half the share of the model's states.",
     Cost::gpus, more_gpus, zero_paper, 2, shard_over_more_gpus},
    {"more_gpus", "Divided over 4 times as many GPUs", "Each GPU holds a quarter of the share of the model's states.",
     Cost::gpus, more_gpus, zero_paper, 4, shard_over_more_gpus},
    {"more_gpus", "Divided over 8 times as many GPUs", "Each GPU holds an eighth of the share of the model's states.",
     Cost::gpus, more_gpus, zero_paper, 8, shard_over_more_gpus},
    {"more_gpus", "Divided over 16 times as many GPUs", "Each GPU holds a 16th of the share of the model's states.",
     Cost::gpus, more_gpus, zero_paper, 16, shard_over_more_gpus},
    {"more_gpus", "Divided over 32 times as many GPUs", "Each GPU holds a 32nd of the share of the model's states.",
     Cost::gpus, more_gpus, zero_paper, 32, shard_over_more_gpus},
    {"more_gpus", "Divided over 64 times as many GPUs", "Each GPU holds a 64th of the share of the model's states.",
     Cost::gpus, more_gpus, zero_paper, 64, shard_over_more_gpus},
    {"tensor_parallel", "Tensor parallelism over 2 GPUs", "Every layer is split: weights, states and activations.",
     Cost::gpus, split_gpus, korthikanti, 2, split_layers},
    {"tensor_parallel", "Tensor parallelism over 4 GPUs", "Every layer is split: weights, states and activations.",
     Cost::gpus, split_gpus, korthikanti, 4, split_layers},
    {"tensor_parallel", "Tensor parallelism over 8 GPUs", "Every layer is split: weights, states and activations.",
     Cost::gpus, split_gpus, korthikanti, 8, split_layers},
    {"pipeline_parallel", "Pipeline of 2 stages", "Each stage holds a part of the layers.", Cost::gpus,
     "Stages wait for each other: (stages - 1) / micro-batches of the time.", "Narayanan et al. 2021, arXiv:2104.04473",
     2, split_model},
    {"pipeline_parallel", "Pipeline of 4 stages", "Each stage holds a part of the layers.", Cost::gpus,
     "Stages wait for each other: (stages - 1) / micro-batches of the time.", "Narayanan et al. 2021, arXiv:2104.04473",
     4, split_model},
    {"pipeline_parallel", "Pipeline of 8 stages", "Each stage holds a part of the layers.", Cost::gpus,
     "Stages wait for each other: (stages - 1) / micro-batches of the time.", "Narayanan et al. 2021, arXiv:2104.04473",
     8, split_model},
    {"context_parallel", "Context parallelism over 2 GPUs", "Each GPU holds a part of every sequence.", Cost::gpus,
     "Keys and values travel around a ring, beside the computation.", "Liu et al. 2023, arXiv:2310.01889", 2,
     split_sequence},
    {"context_parallel", "Context parallelism over 8 GPUs", "Each GPU holds a part of every sequence.", Cost::gpus,
     "Keys and values travel around a ring, beside the computation.", "Liu et al. 2023, arXiv:2310.01889", 8,
     split_sequence},
};

}  // namespace

const char* name(Cost cost) {
  switch (cost) {
    case Cost::none: return "none";
    case Cost::speed: return "speed";
    case Cost::numbers: return "numbers";
    case Cost::adapters: return "adapters";
    case Cost::gpus: return "gpus";
  }
  return "";
}

std::span<const Change> all_changes() { return changes; }

}  // namespace trainmem
