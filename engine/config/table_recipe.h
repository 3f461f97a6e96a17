// The recipe's fields, one entry each, in the order of config.h: the second half of table.cpp.
#pragma once

#include "engine/config/fields.h"

namespace trainmem {

inline constexpr double text_limit = 80;

inline constexpr Field recipe_fields[] = {
    // Recipe: work of one step.
    {"/recipe/framework", "fw", [](Config& c) -> Member { return c.recipe.framework; }, 0, 0, "", "Batch",
     "Whose code runs the step; without a recipe preset it also sets the defaults of the other fields."},
    {"/recipe/micro_batch_size", "mbs", [](Config& c) -> Member { return c.recipe.micro_batch_size; }, 1, 65536,
     "sequences", "Batch", "Sequences in one forward on one GPU; with dpo, reward, orpo, cpo and simpo pairs of them."},
    {"/recipe/sequence_length", "seq", [](Config& c) -> Member { return c.recipe.sequence_length; }, 1, 16777216,
     "tokens", "Batch", "Tokens of one sequence; at first no more than the model's table of learned positions has."},
    {"/recipe/gradient_accumulation_steps", "ga",
     [](Config& c) -> Member { return c.recipe.gradient_accumulation_steps; }, 1, 65536, "micro-batches", "Batch",
     "Micro-batches of one optimizer step; with pipeline parallelism all that pass through the pipeline."},
    {"/recipe/padding", "padding", [](Config& c) -> Member { return c.recipe.padding; }, 0, 1, "", "Batch",
     "Shorter sequences are padded to sequence_length, and transformers' model is given an attention_mask with zeros: "
     "SDPA takes a mask of s x s then, which flash attention cannot; flash_attention_2 takes the tokens out and puts "
     "them back (counted as if all were left)."},
    {"/recipe/objective", "objective", [](Config& c) -> Member { return c.recipe.objective; }, 0, 0, "", "Batch",
     "What TRL's trainer of that name trains. next_token: cross-entropy of the next token; dpo: pairs of a chosen and "
     "a rejected sequence, beside a reference model; grpo: completions that the policy wrote; reward: a score in "
     "place of the head, of pairs; orpo, cpo, simpo: pairs without a reference; kto: single sequences beside a "
     "reference."},
    {"/recipe/reference_model", "reference", [](Config& c) -> Member { return c.recipe.reference_model; }, 0, 0, "",
     "Batch",
     "With dpo, kto and grpo: a frozen copy of the weights, the model itself with its adapters disabled (base), or, "
     "not with grpo, log-probabilities that were precomputed; auto, as TRL does: base with LoRA, else a copy; with "
     "grpo "
     "none."},
    {"/recipe/completion_length", "completion", [](Config& c) -> Member { return c.recipe.completion_length; }, 1,
     16777216, "tokens", "Batch",
     "With grpo: tokens of a sequence that are completion; sequence_length counts them and the prompt."},
    {"/recipe/old_log_probabilities", "old_logps", [](Config& c) -> Member { return c.recipe.old_log_probabilities; },
     0, 1, "", "Batch",
     "With grpo: log-probabilities of the policy that wrote the completions are computed before the first micro-batch, "
     "as with vLLM, or where completions serve more than one step."},
    {"/recipe/vllm_memory_fraction", "vllm", [](Config& c) -> Member { return c.recipe.vllm_memory_fraction; }, 0, 0.95,
     "share", "Batch",
     "With grpo: held by vLLM in the same process (vllm_gpu_memory_utilization in mode colocate); 0: vLLM runs "
     "elsewhere, or sleeps."},
    {"/recipe/frozen_layers", "frozen", [](Config& c) -> Member { return c.recipe.frozen_layers; }, 0, 4096, "layers",
     "Batch", "First layers that are not trained, with the embedding before them; 0: all are trained."},
    {"/recipe/frozen_head", "frozen_head", [](Config& c) -> Member { return c.recipe.frozen_head; }, 0, 1, "", "Batch",
     "Final norm and head are not trained, as where a few layers alone are."},

    // Recipe: number formats.
    {"/recipe/precision", "precision", [](Config& c) -> Member { return c.recipe.precision; }, 0, 0, "", "Precision",
     "Number formats of the whole step: pure, mixed with master weights, autocast, FSDP mixed precision or fp8."},
    {"/recipe/fp8_recipe", "fp8_recipe", [](Config& c) -> Member { return c.recipe.fp8_recipe; }, 0, 0, "", "Precision",
     "Scales of fp8 numbers: one for each tensor, for each 128 numbers (and 128 x 128 of a weight) or, on Blackwell, "
     "for "
     "each 32. Megatron's --fp8-recipe."},
    {"/recipe/weights_dtype", "w_dtype", [](Config& c) -> Member { return c.recipe.weights_dtype; }, 0, 0, "",
     "Precision", "Number format of the weights; auto: as precision says; fp8: Megatron's --fp8-param-gather."},
    {"/recipe/master_weights_dtype", "mw_dtype", [](Config& c) -> Member { return c.recipe.master_weights_dtype; }, 0,
     0, "", "Precision", "Number format of the master weights; auto: as precision says."},
    {"/recipe/gradients_dtype", "g_dtype", [](Config& c) -> Member { return c.recipe.gradients_dtype; }, 0, 0, "",
     "Precision", "Number format of the gradients; auto: as precision says."},
    {"/recipe/gradient_reduce_dtype", "gr_dtype", [](Config& c) -> Member { return c.recipe.gradient_reduce_dtype; }, 0,
     0, "", "Precision",
     "Number format in which gradients are reduced over GPUs; auto: as precision says, fp32 in torchtitan and "
     "llm-foundry."},
    {"/recipe/optimizer_state_dtype", "os_dtype", [](Config& c) -> Member { return c.recipe.optimizer_state_dtype; }, 0,
     0, "", "Precision", "Number format of the optimizer states; auto: as optimizer and precision say."},
    {"/recipe/activations_dtype", "a_dtype", [](Config& c) -> Member { return c.recipe.activations_dtype; }, 0, 0, "",
     "Precision", "Number format of the activations; auto: as precision says."},

    // Recipe: optimizer.
    {"/recipe/optimizer", "opt", [](Config& c) -> Member { return c.recipe.optimizer; }, 0, 0, "", "Optimizer",
     "Optimizer; muon_adamw: Muon for the matrices of blocks, AdamW for the rest (Megatron's muon); none: forward and "
     "backward alone."},
    {"/recipe/optimizer_implementation", "opt_impl",
     [](Config& c) -> Member { return c.recipe.optimizer_implementation; }, 0, 0, "", "Optimizer",
     "How its step runs: tensor by tensor, foreach over lists, one fused kernel, or inside backward."},
    {"/recipe/optimizer_rank", "opt_rank", [](Config& c) -> Member { return c.recipe.optimizer_rank; }, 1, 65536, "",
     "Optimizer", "GaLore and APOLLO: rank of the subspace that holds the moments of a block's matrices."},
    {"/recipe/gradient_clipping", "clip", [](Config& c) -> Member { return c.recipe.gradient_clipping; }, 0, 1, "",
     "Optimizer", "Gradients are clipped by their total norm before the step."},

    // Recipe: data parallelism.
    {"/recipe/data_parallel", "dp_kind", [](Config& c) -> Member { return c.recipe.data_parallel; }, 0, 0, "",
     "Data parallelism", "How data-parallel GPUs share weights, gradients and states."},
    {"/recipe/data_parallel_size", "dp", [](Config& c) -> Member { return c.recipe.data_parallel_size; }, 1, 1048576,
     "GPUs", "Data parallelism",
     "GPUs, or groups of GPUs, that hold the same part of the model and see different data."},
    {"/recipe/hybrid_shard_size", "hsdp", [](Config& c) -> Member { return c.recipe.hybrid_shard_size; }, 0, 1048576,
     "GPUs", "Data parallelism", "GPUs of one shard group of FSDP; 0: all of data_parallel_size; 1: FSDP1's NO_SHARD."},
    {"/recipe/fsdp_version", "fsdp_version", [](Config& c) -> Member { return c.recipe.fsdp_version; }, 1, 2, "",
     "Data parallelism", "1: FullyShardedDataParallel with flat parameters; 2: fully_shard."},
    {"/recipe/reshard_after_forward", "reshard", [](Config& c) -> Member { return c.recipe.reshard_after_forward; }, 0,
     0, "", "Data parallelism",
     "FSDP frees gathered weights after a block's forward; auto: always, but not with a pipeline; all_but_last: not "
     "those of the last block (torchtitan before August 2025)."},
    {"/recipe/fsdp_forward_prefetch", "fsdp_ahead", [](Config& c) -> Member { return c.recipe.fsdp_forward_prefetch; },
     0, 1, "", "Data parallelism", "FSDP1 gathers the next block's weights before a block's forward."},
    {"/recipe/fsdp_backward_prefetch", "fsdp_back", [](Config& c) -> Member { return c.recipe.fsdp_backward_prefetch; },
     0, 0, "", "Data parallelism",
     "When FSDP1 gathers the next block's weights in backward: before a block's, after it, or when they are wanted."},
    {"/recipe/fsdp_gradient_sync", "fsdp_sync", [](Config& c) -> Member { return c.recipe.fsdp_gradient_sync; }, 0, 0,
     "", "Data parallelism",
     "Micro-batches after which FSDP reduces gradients; before the last alone they stay whole on every GPU. auto: as "
     "the "
     "framework does: the last with FSDP1 and under accelerate, unless its sync_each_batch says otherwise."},
    {"/recipe/fsdp_wrap_embeddings", "fsdp_emb", [](Config& c) -> Member { return c.recipe.fsdp_wrap_embeddings; }, 0,
     1, "", "Data parallelism", "Embedding, and final norm with head, are FSDP groups of their own."},
    {"/recipe/ddp_bucket_mb", "bucket", [](Config& c) -> Member { return c.recipe.ddp_bucket_mb; }, 1, 1048576, "MiB",
     "Data parallelism", "Bucket size of DDP."},
    {"/recipe/gradient_as_bucket_view", "bucket_view",
     [](Config& c) -> Member { return c.recipe.gradient_as_bucket_view; }, 0, 1, "", "Data parallelism",
     "DDP's gradients are views of its buckets, not copies."},
    {"/recipe/zero_reduce_bucket_size", "zero_bucket",
     [](Config& c) -> Member { return c.recipe.zero_reduce_bucket_size; }, 1, 1000000000000, "elements",
     "Data parallelism", "ZeRO: gradients that are reduced together (reduce_bucket_size)."},
    {"/recipe/zero_overlap_comm", "zero_overlap", [](Config& c) -> Member { return c.recipe.zero_overlap_comm; }, 0, 1,
     "", "Data parallelism",
     "ZeRO-1 and 2 reduce gradients while backward goes on, with a second bucket (overlap_comm)."},
    {"/recipe/zero_prefetch_bucket_size", "zero_prefetch",
     [](Config& c) -> Member { return c.recipe.zero_prefetch_bucket_size; }, 0, 1000000000000, "elements",
     "Data parallelism", "ZeRO-3: weights that are gathered ahead (stage3_prefetch_bucket_size)."},
    {"/recipe/zero_param_persistence_threshold", "zero_persist",
     [](Config& c) -> Member { return c.recipe.zero_param_persistence_threshold; }, 0, 1000000000000, "elements",
     "Data parallelism",
     "ZeRO-3: weights of at most this many elements stay gathered (stage3_param_persistence_threshold)."},
    {"/recipe/zero_max_live_parameters", "zero_live",
     [](Config& c) -> Member { return c.recipe.zero_max_live_parameters; }, 0, 1000000000000, "elements",
     "Data parallelism",
     "ZeRO-3: nothing is gathered ahead beyond this many gathered elements (stage3_max_live_parameters)."},
    {"/recipe/zero_max_reuse_distance", "zero_reuse",
     [](Config& c) -> Member { return c.recipe.zero_max_reuse_distance; }, 0, 1000000000000, "elements",
     "Data parallelism",
     "ZeRO-3: weights that are used again within this many elements stay gathered (stage3_max_reuse_distance)."},
    {"/recipe/zero_sub_group_size", "zero_sub_group", [](Config& c) -> Member { return c.recipe.zero_sub_group_size; },
     1, 1000000000000, "elements", "Data parallelism",
     "ZeRO-3: the optimizer steps groups of parts of about this many elements (sub_group_size)."},
    {"/recipe/distributed_optimizer", "dist_opt", [](Config& c) -> Member { return c.recipe.distributed_optimizer; }, 0,
     1, "", "Data parallelism",
     "Megatron divides main weights and states over its data-parallel ranks, Muon's by whole matrices; with "
     "data_parallel zero1 in its place Muon's and AdamW's weights are dealt out whole in turn "
     "(--no-use-layer-wise-param-layout)."},

    // Recipe: model parallelism.
    {"/recipe/tensor_parallel", "tp", [](Config& c) -> Member { return c.recipe.tensor_parallel; }, 1, 1024, "GPUs",
     "Model parallelism", "GPUs that share every layer."},
    {"/recipe/sequence_parallel", "sp", [](Config& c) -> Member { return c.recipe.sequence_parallel; }, 0, 1, "",
     "Model parallelism",
     "Norms, dropouts and residuals are divided over the sequence among the tensor-parallel GPUs."},
    {"/recipe/pipeline_parallel", "pp", [](Config& c) -> Member { return c.recipe.pipeline_parallel; }, 1, 1024,
     "stages", "Model parallelism", "Pipeline stages, each with a share of the layers."},
    {"/recipe/pipeline_schedule", "pp_schedule", [](Config& c) -> Member { return c.recipe.pipeline_schedule; }, 0, 0,
     "", "Model parallelism", "Order of forwards and backwards in the pipeline."},
    {"/recipe/virtual_pipeline_stages", "vpp", [](Config& c) -> Member { return c.recipe.virtual_pipeline_stages; }, 1,
     1024, "chunks", "Model parallelism", "Chunks of layers that each GPU of an interleaved pipeline holds."},
    {"/recipe/pipeline_first_stage_layers", "pp_first",
     [](Config& c) -> Member { return c.recipe.pipeline_first_stage_layers; }, 0, 4096, "layers", "Model parallelism",
     "Layers of the first stage; 0: layers are divided evenly."},
    {"/recipe/pipeline_last_stage_layers", "pp_last",
     [](Config& c) -> Member { return c.recipe.pipeline_last_stage_layers; }, 0, 4096, "layers", "Model parallelism",
     "Layers of the last stage; 0: layers are divided evenly."},
    {"/recipe/context_parallel", "cp", [](Config& c) -> Member { return c.recipe.context_parallel; }, 1, 1024, "GPUs",
     "Model parallelism", "GPUs that share every sequence."},
    {"/recipe/context_parallel_method", "cp_method",
     [](Config& c) -> Member { return c.recipe.context_parallel_method; }, 0, 0, "", "Model parallelism",
     "How GPUs that share a sequence attend to all of it: keys and values go round, are gathered, or heads are "
     "exchanged for tokens; auto: as the framework does by default."},
    {"/recipe/expert_parallel", "ep", [](Config& c) -> Member { return c.recipe.expert_parallel; }, 1, 1024, "GPUs",
     "Model parallelism", "GPUs among which the experts of a layer are divided."},
    {"/recipe/expert_tensor_parallel", "etp", [](Config& c) -> Member { return c.recipe.expert_tensor_parallel; }, 1,
     1024, "GPUs", "Model parallelism", "GPUs that share every expert."},
    {"/recipe/expert_dispatcher", "ep_dispatch", [](Config& c) -> Member { return c.recipe.expert_dispatcher; }, 0, 0,
     "", "Model parallelism",
     "Megatron: tokens are sent to the GPUs of their experts, or every GPU gathers the tokens of all."},
    {"/recipe/vocabulary_multiple", "vocab_multiple", [](Config& c) -> Member { return c.recipe.vocabulary_multiple; },
     1, 65536, "tokens", "Model parallelism", "The vocabulary is padded to a multiple of this times tensor_parallel."},

    // Recipe: recomputation and offload.
    {"/recipe/recomputation", "recompute", [](Config& c) -> Member { return c.recipe.recomputation; }, 0, 0, "",
     "Recomputation", "Which activations are computed again in backward in place of being kept."},
    {"/recipe/recomputation_interval", "recompute_every",
     [](Config& c) -> Member { return c.recipe.recomputation_interval; }, 1, 4096, "layers", "Recomputation",
     "With every_k: each k-th layer is recomputed."},
    {"/recipe/recomputation_layers", "recompute_layers",
     [](Config& c) -> Member { return c.recipe.recomputation_layers; }, 0, 4096, "layers", "Recomputation",
     "With full: only this many layers of a stage are recomputed, or with uniform in one go; 0: all, or one."},
    {"/recipe/recomputation_method", "recompute_method",
     [](Config& c) -> Member { return c.recipe.recomputation_method; }, 0, 0, "", "Recomputation",
     "Megatron, with full: recomputation_layers of a stage are recomputed each for itself (block), or all in groups "
     "of so many (uniform)."},
    {"/recipe/recomputation_modules", "recompute_mods",
     [](Config& c) -> Member { return c.recipe.recomputation_modules; }, 0, text_limit, "", "Recomputation",
     "Megatron, with selective_modules: some of core_attn, layernorm, mlp, divided by commas."},
    {"/recipe/recomputation_reentrant", "reentrant",
     [](Config& c) -> Member { return c.recipe.recomputation_reentrant; }, 0, 1, "", "Recomputation",
     "Checkpointing runs by its older, reentrant implementation."},
    {"/recipe/offload_optimizer", "off_opt", [](Config& c) -> Member { return c.recipe.offload_optimizer; }, 0, 1, "",
     "Recomputation", "Optimizer states live in host memory."},
    {"/recipe/offload_optimizer_fraction", "off_opt_share",
     [](Config& c) -> Member { return c.recipe.offload_optimizer_fraction; }, 0, 1, "share", "Recomputation",
     "Megatron, with offload_optimizer: share of the parameters whose states live in host memory."},
    {"/recipe/offload_parameters", "off_param", [](Config& c) -> Member { return c.recipe.offload_parameters; }, 0, 1,
     "", "Recomputation", "Parameters live in host memory."},
    {"/recipe/offload_checkpoints", "off_ckpt", [](Config& c) -> Member { return c.recipe.offload_checkpoints; }, 0, 1,
     "", "Recomputation", "Kept block inputs live in host memory."},

    // Recipe: kernels.
    {"/recipe/attention", "attn", [](Config& c) -> Member { return c.recipe.attention; }, 0, 0, "", "Kernels",
     "Attention kernel: eager keeps the scores; sdpa is PyTorch's fused choice, sdpa_math its plain one; flash is the "
     "flash-attn package."},
    {"/recipe/loss", "loss", [](Config& c) -> Member { return c.recipe.loss; }, 0, 0, "", "Kernels",
     "How logits and cross-entropy are computed: from full fp32 logits, or in a way that keeps less. legacy: as before "
     "transformers 4.46, the 16-bit logits held beside their fp32 copies. label_smoothing: the Trainer's with "
     "label_smoothing_factor, outside the model."},
    {"/recipe/fused_norm", "fused_norm", [](Config& c) -> Member { return c.recipe.fused_norm; }, 0, 1, "", "Kernels",
     "Norms are one kernel."},
    {"/recipe/fused_mlp", "fused_mlp", [](Config& c) -> Member { return c.recipe.fused_mlp; }, 0, 1, "", "Kernels",
     "The MLP's activation and product are one kernel."},
    {"/recipe/fused_rope", "fused_rope", [](Config& c) -> Member { return c.recipe.fused_rope; }, 0, 1, "", "Kernels",
     "Rotary positions are applied by one kernel."},
    {"/recipe/fast_path", "fast_path", [](Config& c) -> Member { return c.recipe.fast_path; }, 0, 1, "", "Kernels",
     "Linear attention, Mamba layers and short convolutions run by the kernels of flash-linear-attention, mamba-ssm "
     "and causal-conv1d, which transformers calls its fast path and takes where these are installed; without it by "
     "PyTorch's operations."},
    {"/recipe/transformer_engine", "te", [](Config& c) -> Member { return c.recipe.transformer_engine; }, 0, 1, "",
     "Kernels",
     "Megatron: layers are Transformer Engine's, and sdpa is the attention kernel that it chooses; without it they are "
     "Megatron's own, with eager attention."},
    {"/recipe/gradient_accumulation_fusion", "wgrad_fusion",
     [](Config& c) -> Member { return c.recipe.gradient_accumulation_fusion; }, 0, 1, "", "Kernels",
     "Megatron: matrix products add the gradients of weights to the main gradients themselves."},
    {"/recipe/grouped_experts", "grouped", [](Config& c) -> Member { return c.recipe.grouped_experts; }, 0, 1, "",
     "Kernels", "Megatron: the experts of a GPU run as one grouped product; without it one after another."},
    {"/recipe/deterministic", "deterministic", [](Config& c) -> Member { return c.recipe.deterministic; }, 0, 1, "",
     "Kernels", "Kernels that repeat their results, with CUBLAS_WORKSPACE_CONFIG=:4096:8."},
    {"/recipe/compile_blocks", "compile", [](Config& c) -> Member { return c.recipe.compile_blocks; }, 0, 1, "",
     "Kernels", "Each block runs through torch.compile."},
    {"/recipe/compile_loss", "compile_loss", [](Config& c) -> Member { return c.recipe.compile_loss; }, 0, 1, "",
     "Kernels", "The loss runs through torch.compile."},
    {"/recipe/training_loop", "loop", [](Config& c) -> Member { return c.recipe.training_loop; }, 0, 0, "", "Kernels",
     "Who holds the step's variables: a plain loop, or the Trainer class of transformers."},
    {"/recipe/transformers_release", "release", [](Config& c) -> Member { return c.recipe.transformers_release; }, 0, 0,
     "", "Kernels",
     "Whose classes run: of today, or of transformers before 4.46, which upcast all logits in the model's forward, "
     "copy them without the last position, repeat Mistral's key and value heads for flash attention, run Mixtral's and "
     "OLMoE's experts one after another, and recompute around FSDP1's wrappers (until 4.51), not inside."},
    {"/recipe/torchtitan_release", "titan", [](Config& c) -> Member { return c.recipe.torchtitan_release; }, 0, 0, "",
     "Kernels",
     "torchtitan: whose code runs, and whose defaults hold. current: of August 2026 (b5bcd76c), with query, key and "
     "value in one projection, grouped heads and all sequences of a micro-batch as one for FlexAttention, a rotary "
     "table in every layer, the loss in chunks with the head; 0_2_2: of February 2026, grouped heads for sdpa; "
     "before_0_2_2: key and value heads are repeated. A link that says none means before_0_2_2."},
    {"/recipe/cuda_graphs", "cuda_graphs", [](Config& c) -> Member { return c.recipe.cuda_graphs; }, 0, 1, "",
     "Kernels",
     "torchtitan of today: forward and backward are captured as a CUDA graph, where there is neither a pipeline nor "
     "expert parallelism: gradients stay allocated from step to step."},

    // Recipe: adapters and quantisation.
    {"/recipe/lora/rank", "lora", [](Config& c) -> Member { return c.recipe.lora.rank; }, 0, 65536, "", "Adapters",
     "Rank of the adapters; 0: full fine-tuning."},
    {"/recipe/lora/targets", "lora_targets", [](Config& c) -> Member { return c.recipe.lora.targets; }, 0, text_limit,
     "", "Adapters",
     "Projections that get an adapter, divided by commas: q, k, v, o, gate, up, down; other: every other linear layer "
     "of "
     "a block, and the routers of stacked experts beside gate and up."},
    {"/recipe/lora/dropout", "lora_drop", [](Config& c) -> Member { return c.recipe.lora.dropout; }, 0, 1,
     "probability", "Adapters", "Dropout on the adapters' input."},
    {"/recipe/lora/adapter_dtype", "lora_dtype", [](Config& c) -> Member { return c.recipe.lora.adapter_dtype; }, 0, 0,
     "", "Adapters", "Number format of the adapters; auto: as precision says."},
    {"/recipe/lora/fused", "lora_fused", [](Config& c) -> Member { return c.recipe.lora.fused; }, 0, 1, "", "Adapters",
     "A layer's product with its adapter is one operation, as fms-acceleration takes it from Unsloth: query, key and "
     "value together where all three have adapters, and the attention projection."},
    {"/recipe/quantization", "quant", [](Config& c) -> Member { return c.recipe.quantization; }, 0, 0, "", "Adapters",
     "Number format in which frozen weights are stored."},

    // Recipe: the rest.
    {"/recipe/expert_imbalance", "imbalance", [](Config& c) -> Member { return c.recipe.expert_imbalance; }, 1, 1024,
     "ratio", "Batch", "Tokens of the busiest expert rank over the mean."},
    {"/recipe/expandable_segments", "expandable", [](Config& c) -> Member { return c.recipe.expandable_segments; }, 0,
     1, "", "Kernels", "The allocator runs with expandable_segments:True."},
};

}  // namespace trainmem
