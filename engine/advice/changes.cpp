#include "engine/advice/changes.h"

#include <string_view>
#include <utility>

#include "engine/advice/edits.h"
#include "engine/validation/validate.h"

namespace trainmem {

namespace {

template <class Enumeration>
constexpr std::int64_t of(Enumeration value) {
  return static_cast<std::int64_t>(value);
}

/// What several changes, or degrees of one, say alike.
constexpr const char* smaller_meaning = "Activations and logits shrink with the sequences that are computed at once.";
constexpr const char* no_scores = "The scores, which grow with the square of the sequence, are never stored.";
constexpr const char* faster_scores = "Faster: the scores are not written to memory and read back.";
constexpr const char* one_kernel = "Faster: one kernel in place of several.";
constexpr const char* flash_paper = "Dao et al. 2022, arXiv:2205.14135";
constexpr const char* plain_exchange = "As many bytes are exchanged as by plain data parallelism.";
constexpr const char* scattered_exchange =
    "As many bytes are exchanged: a reduce-scatter and an all-gather in place of an all-reduce.";
constexpr const char* layers_split = "Every layer is split: weights, states and activations.";
constexpr const char* stage_meaning = "Each stage holds a part of the layers.";
constexpr const char* stages_wait = "Stages wait for each other: (stages - 1) / micro-batches of the time.";
constexpr const char* pipeline_paper = "Narayanan et al. 2021, arXiv:2104.04473";
constexpr const char* schedule_section = "Narayanan et al. 2021, arXiv:2104.04473, section 2.2";
constexpr const char* sequence_split = "Each GPU holds a part of every sequence.";
constexpr const char* ring_cost = "Keys and values travel around a ring, beside the computation.";
constexpr const char* ring_paper = "Liu et al. 2023, arXiv:2310.01889";
constexpr const char* another_optimizer = "Another optimizer: the learning rate has to be found again.";
constexpr const char* fsdp_paper = "Zhao et al. 2023, arXiv:2304.11277";
constexpr const char* same_batch =
    "The same tokens in more and smaller matrix products, which may fill the GPU less well.";
constexpr const char* korthikanti = "Korthikanti et al. 2022, arXiv:2205.05198";
constexpr const char* liger = "Hsu et al. 2024 (Liger Kernel), arXiv:2410.10989";
constexpr const char* zero_paper = "Rajbhandari et al. 2020, arXiv:1910.02054, section 7";
constexpr const char* more_gpus = "More GPUs; the same global batch where the accumulation steps divide.";
constexpr const char* split_gpus =
    "Two all-reduces of activations for each layer and pass, so best within one node; more GPUs unless data "
    "parallelism gives them up.";

constexpr const char* gshard = "Lepikhin et al. 2020 (GShard), arXiv:2006.16668";
constexpr const char* expert_meaning = "Data-parallel GPUs hold a part of the experts each, in place of all.";
constexpr const char* expert_cost = "Tokens travel to their experts and back in every layer and pass.";

constexpr Change changes[] = {
    {"smaller_micro_batch", "Smaller micro-batch, accumulated", smaller_meaning, Cost::none, same_batch, "", 2,
     smaller_micro_batch},
    {"smaller_micro_batch", "Smaller micro-batch, accumulated", smaller_meaning, Cost::none, same_batch, "", 4,
     smaller_micro_batch},
    {"smaller_micro_batch", "Micro-batch of one, accumulated", smaller_meaning, Cost::none, same_batch, "", 0,
     smaller_micro_batch},
    {"fused_attention", "SDPA attention", no_scores, Cost::none, faster_scores, flash_paper, of(AttentionKernel::sdpa),
     attention_kernel},
    {"fused_attention", "FlashAttention", no_scores, Cost::none, faster_scores, flash_paper, of(AttentionKernel::flash),
     attention_kernel},
    {"layer_kernels", "Kernels for layers that do not attend",
     "Mamba's, delta networks' and convolutions' kernels keep a few tensors, PyTorch's operations one after each "
     "other.",
     Cost::none, "Faster: flash-linear-attention, mamba-ssm and causal-conv1d are installed.",
     "transformers models/bamba/modeling_bamba.py: is_fast_path_available", 0, layer_kernels},
    {"plain_loss", "Logits as newer versions keep them", "One fp32 copy of the logits goes.", Cost::none,
     "Costs nothing: transformers does so from 4.46 on.", "", of(Loss::full), loss_kind},
    {"fused_loss", "Fused cross-entropy", "Softmax and its gradient take no tensors of their own.", Cost::none,
     one_kernel, "", of(Loss::fused), loss_kind},
    {"chunked_loss", "Loss in chunks", "Logits exist for a part of the tokens at a time.", Cost::none,
     "The same arithmetic in more, smaller calls.", "", of(Loss::chunked), loss_kind},
    {"fused_linear_loss", "Head and loss fused", "Logits exist for a part of the tokens at a time, and only once.",
     Cost::none, "Faster, or nearly as fast: gradients are computed in the forward pass.", liger,
     of(Loss::fused_linear), loss_kind},
    {"vocabulary_parallel_loss", "Vocabulary-parallel loss", "Logits stay divided over the tensor-parallel GPUs.",
     Cost::none, "Less communication: sums are exchanged in place of logits.",
     "Shoeybi et al. 2019, arXiv:1909.08053, section 3", of(Loss::vocabulary_parallel), loss_kind},
    {"packed_sequences", "Sequences packed",
     "Without padding there is no mask of s x s, which flash attention cannot take.", Cost::none,
     "Faster: nothing is computed for padding.", "TRL trainer/sft_config.py, packing", 0, pack_sequences},
    {"precompute_reference", "Reference log-probabilities precomputed",
     "Neither a copy of the weights nor a second set of logits is there while the policy trains.", Cost::none,
     "The reference runs once over the data, before the training.",
     "TRL trainer/dpo_config.py, precompute_ref_log_probs", 0, precompute_reference},
    {"vllm_sleeps", "vLLM asleep while the policy trains", "Its weights and cache leave the GPU until they are needed.",
     Cost::speed, "It is woken for every batch of completions.", "TRL trainer/grpo_config.py, vllm_enable_sleep_mode",
     0, vllm_sleeps},
    {"fused_step", "Fused optimizer step", "The step updates in place and has no temporaries.", Cost::none, one_kernel,
     "PyTorch torch/optim/adamw.py, fused", of(OptimizerImplementation::fused), optimizer_step},
    {"fused_norm", "Fused norms", "A norm keeps its input and one number for each token.", Cost::none, one_kernel,
     liger, 0, turn_on<&Recipe::fused_norm>},
    {"fused_mlp", "Fused MLP activation", "Gate, activation and product keep less between them.", Cost::none,
     one_kernel, liger, 0, turn_on<&Recipe::fused_mlp>},
    {"fused_rope", "Fused rotary positions", "Turning queries and keys takes no temporaries.", Cost::none, one_kernel,
     liger, 0, turn_on<&Recipe::fused_rope>},
    {"compiled_blocks", "Compiled blocks", "The compiler fuses what lies between matrix products and keeps less of it.",
     Cost::none, "Faster, after minutes of compilation.",
     "PyTorch torch/_functorch/partitioners.py, min_cut_rematerialization_partition", 0,
     turn_on<&Recipe::compile_blocks>},
    {"grouped_experts", "Experts as one grouped product", "All experts of a GPU run as one product.", Cost::none,
     "Faster: one kernel in place of many.", "Megatron-LM --moe-grouped-gemm", 0, turn_on<&Recipe::grouped_experts>},
    {"fused_accumulation", "Gradients added by the product itself",
     "A weight's gradient needs no tensor beside the main gradient.", Cost::none, "Faster: a copy less.",
     "Megatron-LM, gradient_accumulation_fusion", 0, turn_on<&Recipe::gradient_accumulation_fusion>},
    {"one_forward_one_backward", "1F1B in place of GPipe",
     "A stage holds as many micro-batches as stages follow it, not all.", Cost::none,
     "As fast: the same time is spent waiting.", schedule_section, of(PipelineSchedule::gpipe), plain_schedule},
    {"bucket_view", "Gradients as views of DDP's buckets", "Gradients and buckets are one memory.", Cost::none,
     "Costs nothing: a copy less.", "PyTorch DistributedDataParallel, gradient_as_bucket_view", 0, bucket_view},
    {"expandable_segments", "Expandable segments", "The allocator's pools grow in place, so less of them lies unused.",
     Cost::none, "Costs nothing in most runs: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
     "PyTorch notes on CUDA semantics, memory management", 0, turn_on<&Recipe::expandable_segments>},
    {"distributed_optimizer", "Distributed optimizer", "Main weights and states are divided over data-parallel GPUs.",
     Cost::none, scattered_exchange, zero_paper, 0, distributed_optimizer},
    {"sequence_parallel", "Sequence parallelism", "Norms, dropouts and residuals are divided over the sequence too.",
     Cost::none, scattered_exchange, korthikanti, 0, sequence_parallel},
    {"zero1", "ZeRO-1: optimizer states divided", "Each data-parallel GPU holds a part of the optimizer states.",
     Cost::none, plain_exchange, zero_paper, of(DataParallel::zero1), shard_states},
    {"zero2", "ZeRO-2: gradients divided too", "Each data-parallel GPU holds a part of states and gradients.",
     Cost::none, plain_exchange, zero_paper, of(DataParallel::zero2), shard_states},
    {"zero3", "ZeRO-3: weights divided too", "Each data-parallel GPU holds a part of weights, gradients and states.",
     Cost::speed, "1.5 times the bytes of plain data parallelism are exchanged.", zero_paper, of(DataParallel::zero3),
     shard_states},
    {"fsdp", "FSDP: weights, gradients and states divided",
     "Each data-parallel GPU holds a part; blocks are gathered as they compute.", Cost::speed,
     "1.5 times the bytes of plain data parallelism are exchanged, most of it behind computation.", fsdp_paper,
     of(DataParallel::fsdp), shard_states},
    {"reshard", "FSDP frees gathered weights after forward", "Gathered blocks go when their forward has ended.",
     Cost::speed, "Weights are gathered once more in backward.", fsdp_paper, 0, reshard},
    {"one_forward_one_backward", "1F1B, not interleaved", "Fewer micro-batches are in flight on the first stages.",
     Cost::speed, "Stages wait longer: as often as there were virtual stages.", schedule_section,
     of(PipelineSchedule::interleaved), plain_schedule},
    {"one_forward_one_backward", "1F1B in place of a zero-bubble schedule", "Gradients of weights are not put off.",
     Cost::speed, "Stages wait for each other.", "Qi et al. 2023 (Zero Bubble), arXiv:2401.10241",
     of(PipelineSchedule::zero_bubble), plain_schedule},
    {"shard_over_all", "Divided over all GPUs, not within groups", "No two GPUs hold the same part.", Cost::speed,
     "Weights are gathered across nodes.", "Zhao et al. 2023, arXiv:2304.11277, section 3.2", 0, shard_over_all},
    {"expert_parallel", "Expert parallelism over 2 GPUs", expert_meaning, Cost::speed, expert_cost, gshard, 2,
     split_experts},
    {"expert_parallel", "Expert parallelism over 4 GPUs", expert_meaning, Cost::speed, expert_cost, gshard, 4,
     split_experts},
    {"expert_parallel", "Expert parallelism over 8 GPUs", expert_meaning, Cost::speed, expert_cost, gshard, 8,
     split_experts},
    {"expert_parallel", "Expert parallelism over 16 GPUs", expert_meaning, Cost::speed, expert_cost, gshard, 16,
     split_experts},
    {"expert_parallel", "Expert parallelism over 32 GPUs", expert_meaning, Cost::speed, expert_cost, gshard, 32,
     split_experts},
    {"expert_parallel", "Expert parallelism over 64 GPUs", expert_meaning, Cost::speed, expert_cost, gshard, 64,
     split_experts},
    {"step_by_tensor", "Optimizer step tensor by tensor", "Temporaries exist for one tensor at a time.", Cost::speed,
     "The step itself is slower: a few kernels for each tensor.", "PyTorch torch/optim/adamw.py, foreach=False",
     of(OptimizerImplementation::for_loop), optimizer_step},
    {"step_in_backward", "Optimizer step inside backward", "A gradient goes as soon as it has been used.", Cost::speed,
     "No clipping by the total norm, no accumulation.",
     "PyTorch tutorial: how to save memory by fusing the optimizer "
     "step into the backward pass",
     0, step_in_backward},
    {"recompute_attention", "Recompute core attention", "Scores, softmax and dropout are computed again in backward.",
     Cost::speed, "2.7 % more arithmetic for GPT-3 175B, 1.6 % for MT-NLG 530B.", korthikanti,
     of(Recomputation::selective_attention), recomputation_kind},
    {"recompute_modules", "Recompute norms", "Outputs of norms are computed again in backward.", Cost::speed,
     "A norm for each half of a block: next to nothing.", "Megatron-LM --recompute-modules layernorm", 0,
     recompute_modules},
    {"recompute_modules", "Recompute norms and MLPs",
     "Norms and the inside of every MLP are computed again in backward.", Cost::speed, "The MLPs' forward runs twice.",
     "Megatron-LM --recompute-modules layernorm mlp", 1, recompute_modules},
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
     Cost::host, "Copies over PCIe, beside the computation.",
     "Rajbhandari et al. 2020 (ZeRO), arXiv:1910.02054, section 6.1: P_a+cpu", 0,
     turn_on<&Recipe::offload_checkpoints>},
    {"offload_optimizer", "Optimizer states in host memory", "States live in host memory, where the step runs.",
     Cost::host, "Gradients and weights cross PCIe in every step.", "Ren et al. 2021 (ZeRO-Offload), arXiv:2101.06840",
     0, turn_on<&Recipe::offload_optimizer>},
    {"offload_parameters", "Parameters in host memory",
     "Weights and states live in host memory; blocks come as they compute.", Cost::host,
     "Every weight crosses PCIe in forward and backward.", "Rajbhandari et al. 2021 (ZeRO-Infinity), arXiv:2104.07857",
     0, offload_parameters},
    {"autocast", "bf16 autocast", "Activations of matrix products take two bytes in place of four.", Cost::numbers,
     "Faster on tensor cores; other rounding.", "Micikevicius et al. 2018, arXiv:1710.03740", 0, lower_precision},
    {"pure_16_bit", "16-bit weights and states", "Weights, gradients and states take two bytes for each value.",
     Cost::numbers, "Faster, but small updates round away without master weights.",
     "Micikevicius et al. 2018, arXiv:1710.03740, section 3.1", 0, pure_16_bit},
    {"moments_16_bit", "Moments in bf16", "Both moments take two bytes for each value in place of four.", Cost::numbers,
     "As fast; DeepSeek-V3 saw no loss in quality.", "DeepSeek-AI 2024 (DeepSeek-V3), arXiv:2412.19437, section 3.3.3",
     0, moments_16_bit},
    {"adamw_8bit", "8-bit AdamW", "Both moments take one byte for each value.", Cost::numbers,
     "As fast; states are quantised in blocks, with the same results in the paper's tasks.",
     "Dettmers et al. 2022, arXiv:2110.02861", of(Optimizer::adamw_8bit), optimizer_kind},
    {"adafactor", "Adafactor", "The second moment is kept by rows and columns, the first not at all.", Cost::numbers,
     another_optimizer, "Shazeer and Stern 2018, arXiv:1804.04235", of(Optimizer::adafactor), optimizer_kind},
    {"lion", "Lion", "One moment in place of two.", Cost::numbers, another_optimizer,
     "Chen et al. 2023, arXiv:2302.06675", of(Optimizer::lion), optimizer_kind},
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
    {"tensor_parallel", "Tensor parallelism over 2 GPUs", layers_split, Cost::gpus, split_gpus, korthikanti, 2,
     split_layers},
    {"tensor_parallel", "Tensor parallelism over 4 GPUs", layers_split, Cost::gpus, split_gpus, korthikanti, 4,
     split_layers},
    {"tensor_parallel", "Tensor parallelism over 8 GPUs", layers_split, Cost::gpus, split_gpus, korthikanti, 8,
     split_layers},
    {"pipeline_parallel", "Pipeline of 2 stages", stage_meaning, Cost::gpus, stages_wait, pipeline_paper, 2,
     split_model},
    {"pipeline_parallel", "Pipeline of 4 stages", stage_meaning, Cost::gpus, stages_wait, pipeline_paper, 4,
     split_model},
    {"pipeline_parallel", "Pipeline of 8 stages", stage_meaning, Cost::gpus, stages_wait, pipeline_paper, 8,
     split_model},
    {"pipeline_parallel", "Pipeline of 16 stages", stage_meaning, Cost::gpus, stages_wait, pipeline_paper, 16,
     split_model},
    {"context_parallel", "Context parallelism over 2 GPUs", sequence_split, Cost::gpus, ring_cost, ring_paper, 2,
     split_sequence},
    {"context_parallel", "Context parallelism over 4 GPUs", sequence_split, Cost::gpus, ring_cost, ring_paper, 4,
     split_sequence},
    {"context_parallel", "Context parallelism over 8 GPUs", sequence_split, Cost::gpus, ring_cost, ring_paper, 8,
     split_sequence},
};

}  // namespace

const char* name(Cost cost) {
  switch (cost) {
    case Cost::none: return "none";
    case Cost::speed: return "speed";
    case Cost::host: return "host";
    case Cost::numbers: return "numbers";
    case Cost::adapters: return "adapters";
    case Cost::gpus: return "gpus";
  }
  return "";
}

bool make(const Change& change, Config& config) {
  Config changed = config;
  if (!change.apply(changed, change.amount) || !validate(changed).empty()) return false;
  config = std::move(changed);
  return true;
}

bool same_kind(const Change& a, const Change& b) { return std::string_view(a.id) == b.id; }

std::span<const Change> all_changes() { return changes; }

}  // namespace trainmem
