// What a user describes: a model, a GPU and a recipe. Plain data with defaults.
//
// Field names are the JSON keys, the link keys and the page's field names. Architecture names are those of
// Hugging Face config.json, parallel names those of Megatron and torchtitan. Range, unit and meaning of every
// field stand in config/fields.h, which JSON, links, validation and documentation share.
#pragma once

#include <cstdint>
#include <string>

#include "engine/dtype.h"
#include "engine/size/size.h"

namespace trainmem {

enum class Activation { silu, gelu, gelu_new, gelu_pytorch_tanh, relu, relu2, clamped_swiglu, gelu_fast, xielu };
enum class Norm { layernorm, rmsnorm };
enum class NormPlacement { pre, post, pre_and_post };
enum class QkNorm { none, per_head, full };
enum class Positions { rope, learned, alibi, none };
/// Over all tokens, or over those that an attention mask leaves.
enum class RouterAuxiliaryLoss { none, unmasked, masked };

/// Routed experts in place of the dense MLP. num_experts = 0: the model is dense.
struct Experts {
  std::int64_t num_experts = 0;
  std::int64_t num_experts_per_tok = 0;
  std::int64_t moe_intermediate_size = 0;
  std::int64_t n_shared_experts = 0;
  std::int64_t shared_expert_intermediate_size = 0;  ///< 0: moe_intermediate_size
  bool shared_expert_gate = false;
  std::int64_t first_k_dense_replace = 0;
  std::int64_t moe_layer_freq = 1;
  bool router_bias = false;
  bool expert_bias = false;
  std::int64_t moe_latent_size = 0;  ///< width in which the routed experts work; 0: hidden_size
  bool input_jitter = true;          ///< PhiMoE: tokens are multiplied with random numbers before experts and router
  RouterAuxiliaryLoss router_auxiliary_loss = RouterAuxiliaryLoss::none;
  bool operator==(const Experts&) const = default;
};

/// Multi-head latent attention (DeepSeek-V2). kv_lora_rank = 0: ordinary attention, of which v_head_dim is the size of
/// a value, or 0: as large as a key.
struct LatentAttention {
  std::int64_t q_lora_rank = 0;
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  bool operator==(const LatentAttention&) const = default;
};

/// Mamba 2 layers, or with time_step_rank those of the first Mamba. n_heads = 0: the model has none.
struct Mamba {
  std::int64_t n_heads = 0;
  std::int64_t d_head = 0;
  std::int64_t n_groups = 1;
  std::int64_t d_state = 0;
  std::int64_t d_conv = 4;
  std::int64_t chunk_size = 256;
  std::int64_t time_step_rank = 0;  ///< Mamba 1, whose heads are single channels: rank of their time steps
  bool conv_bias = true;
  bool proj_bias = false;
  bool gated_norm = true;  ///< a norm of the gated result; without it the gate alone
  bool operator==(const Mamba&) const = default;
};

/// Gated delta networks (Qwen3-Next), in layers of kind linear_attention. linear_num_key_heads = 0: the model has none.
struct LinearAttention {
  std::int64_t linear_num_key_heads = 0;
  std::int64_t linear_num_value_heads = 0;
  std::int64_t linear_key_head_dim = 0;
  std::int64_t linear_value_head_dim = 0;
  std::int64_t linear_conv_kernel_dim = 0;  ///< tokens that the convolution before it sees
  bool operator==(const LinearAttention&) const = default;
};

struct Model {
  std::string model_type = "llama";  ///< Hugging Face model_type: selects the forward
  Size vocab_size = 0;
  Size hidden_size = 0;
  Size num_hidden_layers = 0;
  Size num_attention_heads = 0;
  Size num_key_value_heads = 0;
  Size head_dim = 0;
  Size intermediate_size = 0;
  std::int64_t max_position_embeddings = 0;
  bool tie_word_embeddings = false;
  Activation hidden_act = Activation::silu;
  bool gated_mlp = true;
  Norm norm = Norm::rmsnorm;
  NormPlacement norm_placement = NormPlacement::pre;
  std::int64_t norms_per_layer = 2;
  bool norm_weight = true;
  bool norm_bias = false;
  bool embedding_norm = false;
  bool final_norm = true;
  QkNorm qk_norm = QkNorm::none;
  bool attention_bias = false;  ///< biases of the query, key and value projections
  bool attention_output_bias = false;
  bool mlp_bias = false;
  bool lm_head_bias = false;
  Positions positions = Positions::rope;
  std::int64_t learned_positions = 0;  ///< rows of the position table
  double partial_rotary_factor = 1.0;  ///< share of head_dim that RoPE turns
  double attention_dropout = 0.0;
  double hidden_dropout = 0.0;
  double embedding_dropout = 0.0;
  bool parallel_attention_mlp = false;
  std::int64_t sliding_window = 0;          ///< tokens; 0: none
  std::int64_t sliding_window_pattern = 1;  ///< every n-th layer attends to everything; 1: all layers slide
  double attn_logit_softcapping = 0.0;
  double final_logit_softcapping = 0.0;
  double clip_qkv = 0.0;                 ///< limit of queries, keys and values; 0: none
  std::int64_t word_embed_proj_dim = 0;  ///< 0: hidden_size
  bool attention_sinks = false;
  std::string layer_types;  ///< kinds of the layers, config/layer_types.h; empty: full attention, or sliding ones
  std::int64_t conv_kernel_size = 3;  ///< tokens that a layer of kind conv looks at
  bool conv_bias = false;             ///< of its projections and of the convolution
  std::int64_t nope_every = 0;        ///< every n-th layer has no RoPE; 0: none
  std::int64_t num_nextn_predict_layers = 0;
  std::int64_t num_sliding_attention_heads = 0;  ///< of layers with a window; 0: num_attention_heads
  std::int64_t global_head_dim = 0;              ///< of layers without a window; 0: head_dim
  std::int64_t num_global_key_value_heads = 0;   ///< of layers without a window; 0: num_key_value_heads
  bool attention_k_eq_v = false;                 ///< layers without a window project keys alone: values are these, too
  std::int64_t num_kv_shared_layers = 0;         ///< last layers, which take keys and values of an earlier one
  bool use_double_wide_mlp = false;              ///< of these layers
  std::int64_t hidden_size_per_layer_input = 0;  ///< width of each layer's own embeddings; 0: there are none
  std::int64_t vocab_size_per_layer_input = 0;   ///< rows of their table
  std::int64_t altup_num_inputs = 0;             ///< streams of hidden states side by side (AltUp); 0: one
  std::int64_t laurel_rank = 0;                  ///< of the learned residual beside attention (LAuReL); 0: none
  std::int64_t activation_sparsity_layers = 0;   ///< leading layers whose MLP lets the largest gates through alone
  bool scores_sequences = false;                 ///< a score in place of the head: no field, the objective says so
  std::int64_t num_mem_blocks = 0;               ///< transformer blocks that layers of kind hybrid share in turn
  std::int64_t adapter_rank = 0;                 ///< of the matrices that each of these layers adds to its block's
  bool use_shared_attention_adapter = false;     ///< to those of queries, keys and values, too
  bool bit_linear = false;                       ///< linear layers of the blocks round weights and inputs as they run
  Experts experts;
  LatentAttention latent_attention;
  Mamba mamba;
  LinearAttention linear_attention;
  bool operator==(const Model&) const = default;
};

/// What the sizes of contexts and workspaces depend on. blackwell: B100 to B300; blackwell_rtx: RTX 50, RTX PRO, GB10;
/// cdna: Instinct before MI300; other: neither CUDA nor ROCm.
enum class GpuArchitecture {
  unknown,
  pascal,
  volta,
  turing,
  ampere,
  ada,
  hopper,
  blackwell,
  blackwell_rtx,
  cdna,
  cdna3,
  cdna4,
  rdna,
  other
};

struct Gpu {
  std::string name;
  GpuArchitecture architecture = GpuArchitecture::unknown;
  std::int64_t memory_bytes = 0;           ///< marketed size
  std::int64_t driver_visible_bytes = 0;   ///< total that nvidia-smi shows; 0: unknown
  std::int64_t usable_bytes = 0;           ///< what the runtime gives a program; 0: unknown
  double bandwidth_gb_per_s = 0;           ///< datasheet, 1e9 bytes a second
  double measured_bandwidth_gb_per_s = 0;  ///< 0: unknown
  double bf16_dense_tflops = 0;
  std::string memory_technology;
  bool operator==(const Gpu&) const = default;
};

enum class Framework { pytorch, transformers, torchtitan, torchtune, megatron, deepspeed, litgpt, llm_foundry };
enum class Precision { fp32, bf16, fp16, bf16_mixed, fp16_mixed, bf16_autocast, fp16_autocast, fsdp_bf16, fp8 };
enum class Fp8Recipe { tensorwise, blockwise, mxfp8 };
enum class Optimizer {
  adamw,
  adamw_amsgrad,
  adamw_8bit,
  adamw_paged,
  adamw_paged_8bit,
  sgd,
  sgd_momentum,
  adafactor,
  adafactor_hf,
  adagrad,
  rmsprop,
  nadam,
  lion,
  lion_8bit,
  muon,
  muon_adamw,
  galore,
  apollo,
  adamw_torchao_8bit,
  adamw_torchao_4bit,
  adamw_torchao_fp8,
  adamw_schedule_free,
  sgd_schedule_free,
  ademamix,
  ademamix_8bit,
  came,
  lamb,
  sophia,
  radam,
  adamax,
  adadelta,
  none
};
enum class OptimizerImplementation { for_loop, foreach, fused, in_backward };
enum class DataParallel { ddp, zero1, zero2, zero3, fsdp };
enum class Reshard { automatic, always, never, all_but_last };
enum class BackwardPrefetch { backward_pre, backward_post, none };
enum class GradientSync { automatic, each_micro_batch, last_micro_batch };
enum class PipelineSchedule { gpipe, one_forward_one_backward, interleaved, zero_bubble };
enum class Recomputation { none, selective_attention, selective_operations, full, every_k, selective_modules };
enum class RecomputationMethod { block, uniform };
enum class ContextParallelMethod { automatic, ring, all_gather, all_to_all };
enum class ExpertDispatcher { all_to_all, all_gather };
enum class AttentionKernel { eager, sdpa, sdpa_math, flash };
enum class Loss { full, legacy, compiled, fused, chunked, fused_linear, vocabulary_parallel, label_smoothing };
enum class TrainingLoop { plain, trainer };
enum class TransformersRelease { current, before_4_46 };
enum class TorchtitanRelease { current, release_0_2_2, before_0_2_2 };
enum class Quantization { none, nf4, nf4_double, int8 };
enum class Objective { next_token, dpo, grpo, reward, orpo, cpo, simpo, kto };
/// What a policy is compared with. base: its own weights without the adapters; automatic: with dpo and kto base with
/// LoRA, else a copy; with grpo none.
enum class ReferenceModel { automatic, copy, base, precomputed, none };

struct Lora {
  std::int64_t rank = 0;  ///< 0: full fine-tuning
  std::string targets = "q,k,v,o,gate,up,down";
  double dropout = 0.0;
  DType adapter_dtype = DType::automatic;
  bool fused = false;  ///< attention's products with adapters are single operations (fms-acceleration)
  bool operator==(const Lora&) const = default;
};

struct Recipe {
  Framework framework = Framework::transformers;
  Size micro_batch_size = 1;
  Size sequence_length = 4096;
  Size gradient_accumulation_steps = 1;
  bool padding = false;  ///< the mask of attention has zeros, where shorter sequences are padded
  Objective objective = Objective::next_token;
  ReferenceModel reference_model = ReferenceModel::automatic;
  Size completion_length = 512;        ///< grpo: the last tokens of a sequence, which the policy wrote
  bool old_log_probabilities = false;  ///< grpo: those of the policy that wrote, computed before the first micro-batch
  double vllm_memory_fraction = 0.0;   ///< grpo: of the GPU's memory, held by a vLLM in the same process
  std::int64_t frozen_layers = 0;      ///< first layers that are not trained, nor is the embedding before them
  bool frozen_head = false;            ///< final norm and head are not trained

  Precision precision = Precision::bf16_autocast;
  Fp8Recipe fp8_recipe = Fp8Recipe::tensorwise;
  DType weights_dtype = DType::automatic;
  DType master_weights_dtype = DType::automatic;
  DType gradients_dtype = DType::automatic;
  DType gradient_reduce_dtype = DType::automatic;
  DType optimizer_state_dtype = DType::automatic;
  DType activations_dtype = DType::automatic;

  Optimizer optimizer = Optimizer::adamw;
  OptimizerImplementation optimizer_implementation = OptimizerImplementation::foreach;
  Size optimizer_rank = 128;  ///< GaLore, APOLLO
  bool gradient_clipping = true;

  DataParallel data_parallel = DataParallel::ddp;
  Size data_parallel_size = 1;
  std::int64_t hybrid_shard_size = 0;  ///< GPUs of a shard group; 0: all of data_parallel_size
  std::int64_t fsdp_version = 2;
  Reshard reshard_after_forward = Reshard::automatic;
  bool fsdp_forward_prefetch = false;  ///< FSDP1 gathers the next group before a group's forward
  BackwardPrefetch fsdp_backward_prefetch = BackwardPrefetch::backward_pre;  ///< FSDP1: when the next gather starts
  GradientSync fsdp_gradient_sync = GradientSync::automatic;  ///< micro-batches whose backward reduces gradients
  bool fsdp_wrap_embeddings = true;  ///< embedding and [norm, head] are groups of their own, as torchtitan does
  std::int64_t ddp_bucket_mb = 25;
  bool gradient_as_bucket_view = false;
  std::int64_t zero_reduce_bucket_size = 500000000;  ///< elements, as the following
  bool zero_overlap_comm = false;                    ///< ZeRO-1 and 2: gradients are reduced while backward goes on
  std::int64_t zero_prefetch_bucket_size = 50000000;
  std::int64_t zero_param_persistence_threshold = 100000;
  std::int64_t zero_max_live_parameters = 1000000000;
  std::int64_t zero_max_reuse_distance = 1000000000;
  std::int64_t zero_sub_group_size = 1000000000;
  Size tensor_parallel = 1;
  bool sequence_parallel = false;
  std::int64_t pipeline_parallel = 1;
  PipelineSchedule pipeline_schedule = PipelineSchedule::one_forward_one_backward;
  std::int64_t virtual_pipeline_stages = 1;
  std::int64_t pipeline_first_stage_layers = 0;  ///< 0: layers are divided evenly
  std::int64_t pipeline_last_stage_layers = 0;
  std::int64_t context_parallel = 1;
  ContextParallelMethod context_parallel_method = ContextParallelMethod::automatic;
  std::int64_t expert_parallel = 1;
  std::int64_t expert_tensor_parallel = 1;
  ExpertDispatcher expert_dispatcher = ExpertDispatcher::all_to_all;
  bool distributed_optimizer = false;    ///< Megatron: main weights and states divided over data-parallel ranks
  std::int64_t vocabulary_multiple = 1;  ///< vocabulary padded to a multiple of this times tensor_parallel

  Recomputation recomputation = Recomputation::none;
  std::int64_t recomputation_interval = 2;  ///< every_k: each k-th layer
  std::int64_t recomputation_layers = 0;    ///< full: only this many layers of a stage; 0: all
  RecomputationMethod recomputation_method = RecomputationMethod::block;
  std::string recomputation_modules = "core_attn";  ///< selective_modules: those that are recomputed
  bool recomputation_reentrant = false;
  bool offload_optimizer = false;
  double offload_optimizer_fraction = 1.0;
  bool offload_parameters = false;
  bool offload_checkpoints = false;

  AttentionKernel attention = AttentionKernel::sdpa;
  Loss loss = Loss::full;
  bool fused_norm = false;
  bool fused_mlp = false;
  bool fused_rope = false;
  bool fast_path = true;                     ///< kernels of causal-conv1d, mamba-ssm and fla, where layers have them
  bool transformer_engine = true;            ///< Megatron: its layers and attention kernels, not Megatron's own
  bool gradient_accumulation_fusion = true;  ///< Megatron: products add weights' gradients to the main gradients
  bool grouped_experts = true;               ///< Megatron: the experts of a GPU run as one grouped product
  bool deterministic = false;                ///< CUBLAS_WORKSPACE_CONFIG=:4096:8 and kernels that repeat their results
  bool compile_blocks = false;
  bool compile_loss = false;
  TrainingLoop training_loop = TrainingLoop::plain;
  TransformersRelease transformers_release = TransformersRelease::current;
  TorchtitanRelease torchtitan_release = TorchtitanRelease::release_0_2_2;  ///< the newest that is released
  bool cuda_graphs = false;  ///< forward and backward are captured, where the framework can: see uses_cuda_graphs()

  Lora lora;
  Quantization quantization = Quantization::none;
  double expert_imbalance = 1.0;  ///< tokens of the busiest expert rank over the mean
  bool expandable_segments = false;
  bool operator==(const Recipe&) const = default;
};

struct Config {
  std::string model_preset;   ///< empty: the model was given in full
  std::string gpu_preset;     ///< empty: the GPU was given in full
  std::string recipe_preset;  ///< empty: the recipe starts from the defaults above
  Model model;
  Gpu gpu;
  Recipe recipe;
};

}  // namespace trainmem
