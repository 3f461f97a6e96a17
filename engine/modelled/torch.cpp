// What the PyTorch step (blocks/transformers, blocks/torchtitan) does not do yet.
#include "engine/config/deepspeed.h"
#include "engine/config/shard_group.h"
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"
#include "engine/optimizer/facts.h"

namespace trainmem {
namespace {

bool is_mixed(const Recipe& r) { return r.precision == Precision::bf16_mixed || r.precision == Precision::fp16_mixed; }

bool of_dtensors(const Recipe& r) { return r.tensor_parallel > 1 && !uses_megatron_deepspeed(r); }

constexpr Missing<Recipe> all_missing[] = {
    {"/recipe/precision", "ZeRO in another precision than DeepSpeed's own is", "Choose bf16_mixed, fp16_mixed or fp32.",
     [](const Recipe& r) { return uses_zero(r) && r.precision != Precision::fp32 && !is_mixed(r); }, "bf16_mixed"},
    {"/recipe/optimizer", "This optimizer under ZeRO is", "Choose adamw.",
     [](const Recipe& r) { return uses_zero(r) && needs_whole_matrices(r.optimizer); }, "adamw"},
    {"/recipe/optimizer", "An optimizer that steps whole matrices, on shards of them, is", "Choose adamw, or ddp.",
     [](const Recipe& r) {
       const bool sharded = r.data_parallel == DataParallel::fsdp && r.data_parallel_size * r.context_parallel > 1;
       return needs_whole_matrices(r.optimizer) && (sharded || r.tensor_parallel > 1);
     },
     "adamw"},
    // pytorch torch/optim/_adafactor.py: new_zeros of a DTensor is whole on every GPU, and so are the update and the
    // gradient gathered for it. transformers' Adafactor adds tensors to DTensors, which fails.
    {"/recipe/optimizer", "Adafactor on DTensors is", "Choose adamw, or fsdp with fsdp_version 1.",
     [](const Recipe& r) {
       const bool adafactor = r.optimizer == Optimizer::adafactor || r.optimizer == Optimizer::adafactor_hf;
       return adafactor && ((uses_fsdp2(r) && r.data_parallel_size * r.context_parallel > 1) || of_dtensors(r));
     },
     "adamw"},
    {"/recipe/optimizer_implementation", "A step inside backward under ZeRO is", "Choose fused or foreach.",
     [](const Recipe& r) { return uses_zero(r) && r.optimizer_implementation == OptimizerImplementation::in_backward; },
     "fused"},
    {"/recipe/hybrid_shard_size", "ZeRO within groups of GPUs is", "Set it to 0.",
     [](const Recipe& r) { return uses_zero(r) && r.hybrid_shard_size > 0; }, "0"},
    {"/recipe/precision", "16-bit weights with fp32 master weights outside Megatron and ZeRO are",
     "Choose bf16, bf16_autocast, fsdp_bf16 with fsdp, or one of zero1, zero2 and zero3.",
     [](const Recipe& r) { return is_mixed(r) && !uses_zero(r); }, "bf16_autocast"},
    {"/recipe/hybrid_shard_size", "FSDP2 over groups of one GPU is", "Choose data_parallel ddp, or fsdp_version 1.",
     [](const Recipe& r) { return uses_fsdp2(r) && r.hybrid_shard_size == 1 && r.data_parallel_size > 1; }, "0"},
    {"/recipe/offload_parameters", "Offload of parameters that FSDP1 does not shard is", "Set it to false.",
     [](const Recipe& r) { return r.offload_parameters && uses_fsdp1(r) && r.hybrid_shard_size == 1; }, "0"},
    {"/recipe/master_weights_dtype", "A format of master weights outside Megatron is", "Set it to auto.",
     [](const Recipe& r) { return r.master_weights_dtype != DType::automatic; }, "auto"},
    {"/recipe/gradients_dtype", "A format of gradients other than the weights' is", "Set it to auto.",
     [](const Recipe& r) { return r.gradients_dtype != DType::automatic && !uses_bf16_optimizer(r); }, "auto"},
    {"/recipe/activations_dtype", "A format of activations other than the precision's is", "Set it to auto.",
     [](const Recipe& r) { return r.activations_dtype != DType::automatic && r.data_parallel != DataParallel::fsdp; },
     "auto"},
    {"/recipe/gradient_reduce_dtype", "A format of reduction without FSDP is", "Set it to auto.",
     [](const Recipe& r) {
       return r.gradient_reduce_dtype != DType::automatic && r.data_parallel != DataParallel::fsdp;
     },
     "auto"},
    {"/recipe/recomputation", "Recomputation of core attention alone outside Megatron is", "Choose none or full.",
     [](const Recipe& r) { return r.recomputation == Recomputation::selective_attention; }, "full"},
    {"/recipe/recomputation_layers", "Recomputation of some of the layers outside Megatron is", "Set it to 0.",
     [](const Recipe& r) { return r.recomputation == Recomputation::full && r.recomputation_layers > 0; }, "0"},
    {"/recipe/loss", "A vocabulary-parallel loss without tensor parallelism is", "Choose full, or set tensor_parallel.",
     [](const Recipe& r) { return r.loss == Loss::vocabulary_parallel && r.tensor_parallel == 1; }, "full"},
    {"/recipe/loss", "This loss under torchtitan is", "Choose full.",
     [](const Recipe& r) {
       const bool chunks = r.loss == Loss::chunked && r.torchtitan_release == TorchtitanRelease::current;
       return r.framework == Framework::torchtitan && r.loss != Loss::full && r.loss != Loss::compiled &&
              r.loss != Loss::vocabulary_parallel && !chunks;
     },
     "full"},
    {"/recipe/loss", "This loss with tensor parallelism is", "Choose full or fused.",
     [](const Recipe& r) { return (r.loss == Loss::fused_linear || r.loss == Loss::chunked) && r.tensor_parallel > 1; },
     "full"},
    {"/recipe/loss", "A loss fused with the head under ZeRO-3 is", "Choose full or fused.",
     [](const Recipe& r) {
       return r.loss == Loss::fused_linear && r.data_parallel == DataParallel::zero3 && uses_zero(r);
     },
     "fused"},
    {"/recipe/transformers_release",
     "An older release of transformers under another framework's forward, or with tensor or pipeline parallelism is",
     "Set it to current.",
     [](const Recipe& r) {
       const bool others = r.framework == Framework::torchtitan || r.framework == Framework::torchtune;
       return r.transformers_release != TransformersRelease::current &&
              (others || r.tensor_parallel > 1 || r.pipeline_parallel > 1);
     },
     "current"},
    {"/recipe/fused_norm", "A fused norm with tensor parallelism of DTensors is", "Set it to false.",
     [](const Recipe& r) { return r.fused_norm && r.framework != Framework::torchtitan && of_dtensors(r); }, "0"},
    {"/recipe/fused_mlp", "A fused MLP under torchtitan or tensor parallelism of DTensors is", "Set it to false.",
     [](const Recipe& r) { return r.fused_mlp && (r.framework == Framework::torchtitan || of_dtensors(r)); }, "0"},
    {"/recipe/fused_rope", "A fused rotary embedding under torchtitan or tensor parallelism of DTensors is",
     "Set it to false.",
     [](const Recipe& r) { return r.fused_rope && (r.framework == Framework::torchtitan || of_dtensors(r)); }, "0"},
    {"/recipe/fused_norm", "A fused norm under torchtune is", "Set it to false.",
     [](const Recipe& r) { return r.fused_norm && r.framework == Framework::torchtune; }, "0"},
    {"/recipe/fused_mlp", "A fused MLP under torchtune is", "Set it to false.",
     [](const Recipe& r) { return r.fused_mlp && r.framework == Framework::torchtune; }, "0"},
    {"/recipe/fused_rope", "A fused rotary embedding under torchtune is", "Set it to false.",
     [](const Recipe& r) { return r.fused_rope && r.framework == Framework::torchtune; }, "0"},
    // Of its checkpoints none is: training/activations.py. Without, a frozen embedding's output wants no gradient.
    {"/recipe/recomputation_reentrant", "Re-entrant recomputation under torchtune is", "Set it to false.",
     [](const Recipe& r) {
       return r.recomputation_reentrant && r.recomputation != Recomputation::none &&
              r.framework == Framework::torchtune;
     },
     "0"},
    {"/recipe/distributed_optimizer", "Megatron's distributed optimizer under another framework is",
     "Choose framework megatron, or set it to false.", [](const Recipe& r) { return r.distributed_optimizer; }, "0"},
};

}  // namespace

void report_not_modelled_torch(const Config& config, Issues& issues) {
  report<Recipe>(all_missing, config.recipe, issues);
}

}  // namespace trainmem
