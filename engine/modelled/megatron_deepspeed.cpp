// What Megatron-DeepSpeed (training/megatron_deepspeed.h) does not do, or what of it is not modelled.
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"

namespace trainmem {
namespace {

constexpr const char* core = "Choose framework megatron.";
constexpr SettledBy to_core{"/recipe/framework", "megatron"};
constexpr const char* tied = "Set tie_word_embeddings to true, or choose framework megatron.";

bool has_rope(const Config& c) { return c.model.positions == Positions::rope; }

// fused_softmax.py, is_kernel_available: beyond these the softmax is one operation after another.

bool has_odd_matrices(const Config& c) {
  const Size heads = ceil_divide(Size(c.model.num_attention_heads), Size(c.recipe.tensor_parallel));
  return c.recipe.attention == AttentionKernel::eager && (heads * Size(c.recipe.micro_batch_size)).value() % 4 != 0;
}

bool has_odd_sequence(const Config& c) {
  const std::int64_t sequence = c.recipe.sequence_length;
  return c.recipe.attention == AttentionKernel::eager && (sequence <= 16 || sequence > 4096 || sequence % 4 != 0);
}

constexpr Missing<Config> all_missing[] = {
    {"/model/experts/num_experts", "Experts in Megatron-DeepSpeed are", "Choose a dense model, or framework megatron.",
     [](const Config& c) { return c.model.experts.num_experts > 0; }, to_core},
    {"/model/latent_attention/kv_lora_rank", "Latent attention in Megatron-DeepSpeed is", core,
     [](const Config& c) { return c.model.latent_attention.kv_lora_rank > 0; }, to_core},
    {"/model/num_nextn_predict_layers", "Multi-token prediction in Megatron-DeepSpeed is", core,
     [](const Config& c) { return c.model.num_nextn_predict_layers > 0; }, to_core},
    {"/model/num_key_value_heads", "Grouped queries in Megatron-DeepSpeed are", core,
     [](const Config& c) { return c.model.num_key_value_heads != c.model.num_attention_heads; }, to_core},
    {"/model/qk_norm", "A norm of queries and keys in Megatron-DeepSpeed is", core,
     [](const Config& c) { return c.model.qk_norm == QkNorm::per_head; }, to_core},
    {"/model/positions", "A model without positions in Megatron-DeepSpeed is", "Choose alibi, learned or rope.",
     [](const Config& c) { return c.model.positions == Positions::none; }},
    {"/model/partial_rotary_factor", "RoPE of a part of each head in Megatron-DeepSpeed is", core,
     [](const Config& c) { return has_rope(c) && c.model.partial_rotary_factor != 1.0; }, to_core},
    {"/model/embedding_norm", "A norm after the embedding beside RoPE, in Megatron-DeepSpeed, is",
     "Set it to false, or choose framework transformers.",
     [](const Config& c) { return has_rope(c) && c.model.embedding_norm; }, to_transformers},
    {"/model/tie_word_embeddings", "A head of its own without RoPE, in Megatron-DeepSpeed, is", tied,
     [](const Config& c) { return !has_rope(c) && !c.model.tie_word_embeddings; }, "1"},
    {"/recipe/precision", "This precision in Megatron-DeepSpeed is", "Choose bf16_mixed or fp16_mixed.",
     [](const Config& c) {
       return c.recipe.precision != Precision::bf16_mixed && c.recipe.precision != Precision::fp16_mixed;
     },
     "bf16_mixed"},
    {"/recipe/weights_dtype", "A format of weights other than the precision's, in Megatron-DeepSpeed, is",
     "Set it to auto.", [](const Config& c) { return c.recipe.weights_dtype != DType::automatic; }, "auto"},
    {"/recipe/data_parallel", "ZeRO-2, ZeRO-3 and FSDP in Megatron-DeepSpeed are", "Choose zero1 or ddp.",
     [](const Config& c) {
       return c.recipe.data_parallel != DataParallel::ddp && c.recipe.data_parallel != DataParallel::zero1;
     },
     "zero1"},
    {"/recipe/sequence_parallel", "Sequence parallelism in Megatron-DeepSpeed is",
     "Set it to false, or choose framework megatron.", [](const Config& c) { return c.recipe.sequence_parallel; }, "0"},
    {"/recipe/pipeline_schedule", "Another schedule than 1F1B in DeepSpeed's pipeline is", "Choose 1f1b.",
     [](const Config& c) {
       return c.recipe.pipeline_parallel > 1 &&
              c.recipe.pipeline_schedule != PipelineSchedule::one_forward_one_backward;
     },
     "1f1b"},
    {"/recipe/recomputation", "Recomputation of something else than whole layers in Megatron-DeepSpeed is",
     "Choose none or full.",
     [](const Config& c) {
       return c.recipe.recomputation != Recomputation::none && c.recipe.recomputation != Recomputation::full;
     },
     "full"},
    {"/recipe/offload_optimizer", "Host memory in Megatron-DeepSpeed is", "Set it to false.",
     [](const Config& c) { return c.recipe.offload_optimizer; }, "0"},
    {"/recipe/offload_checkpoints", "Host memory in Megatron-DeepSpeed is", "Set it to false.",
     [](const Config& c) { return c.recipe.offload_checkpoints; }, "0"},
    {"/recipe/attention", "Attention by products that PyTorch chooses, in Megatron-DeepSpeed, is",
     "Choose eager, or with RoPE flash.",
     [](const Config& c) { return c.recipe.attention == AttentionKernel::sdpa_math; }, "eager"},
    {"/recipe/attention", "Flash attention without RoPE, in Megatron-DeepSpeed, is", "Choose eager.",
     [](const Config& c) {
       return !has_rope(c) &&
              (c.recipe.attention == AttentionKernel::flash || c.recipe.attention == AttentionKernel::sdpa);
     },
     "eager"},
    {"/recipe/micro_batch_size", "Attention whose heads of a GPU, times micro_batch_size, 4 does not divide is",
     "Choose a multiple of 4, or with RoPE attention flash.", has_odd_matrices, "4"},
    {"/recipe/sequence_length", "Attention without flash over such a sequence, in Megatron-DeepSpeed, is",
     "Choose a multiple of 4 from 20 to 4,096, or with RoPE attention flash.", has_odd_sequence, "2048"},
    {"/recipe/loss", "This loss in Megatron-DeepSpeed is", "Choose vocabulary_parallel or full.",
     [](const Config& c) { return c.recipe.loss != Loss::full && c.recipe.loss != Loss::vocabulary_parallel; }, "full"},
    {"/recipe/fused_mlp", "A fused gated MLP in Megatron-DeepSpeed is", "Set it to false.",
     [](const Config& c) { return c.recipe.fused_mlp && c.model.gated_mlp; }, "0"},
    {"/recipe/fused_rope", "A fused rotary embedding in Megatron-DeepSpeed is", "Set it to false.",
     [](const Config& c) { return c.recipe.fused_rope; }, "0"},
    {"/recipe/compile_blocks", "torch.compile of Megatron-DeepSpeed's layers is", "Set it to false.",
     [](const Config& c) { return c.recipe.compile_blocks; }, "0"},
};

}  // namespace

void report_not_modelled_megatron_deepspeed(const Config& config, Issues& issues) {
  report_not_modelled_megatron_layers(config, issues);
  report<Config>(all_missing, config, issues);
}

}  // namespace trainmem
