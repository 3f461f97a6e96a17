// What Megatron's layers do not do, and what Megatron-Core does not do around them, or what of it is not modelled.
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"

namespace trainmem {
namespace {

constexpr const char* other_framework = "Choose framework transformers for this model.";
constexpr const char* deepspeed_too = "Choose framework transformers or deepspeed for this model.";

constexpr Missing<Config> of_layers[] = {
    {"/model/norm_placement", "A norm after each part, under Megatron, is", other_framework,
     [](const Config& c) { return c.model.norm_placement != NormPlacement::pre || c.model.norms_per_layer != 2; },
     to_transformers},
    {"/model/parallel_attention_mlp", "Attention beside the MLP, under Megatron, is", other_framework,
     [](const Config& c) { return c.model.parallel_attention_mlp; }, to_transformers},
    {"/model/qk_norm", "A norm over all heads of the queries, under Megatron, is", other_framework,
     [](const Config& c) { return c.model.qk_norm == QkNorm::full; }, to_transformers},
    {"/model/norm_weight", "A norm without weight, under Megatron, is", other_framework,
     [](const Config& c) { return !c.model.norm_weight || !c.model.final_norm; }, to_transformers},
    {"/model/word_embed_proj_dim", "An embedding of another width, under Megatron, is", other_framework,
     [](const Config& c) { return c.model.word_embed_proj_dim > 0; }, to_transformers},
    {"/model/lm_head_bias", "A bias of the head, under Megatron, is", other_framework,
     [](const Config& c) { return c.model.lm_head_bias; }, to_transformers},
    {"/model/attn_logit_softcapping", "Soft-capping under Megatron is", other_framework,
     [](const Config& c) { return c.model.attn_logit_softcapping > 0 || c.model.final_logit_softcapping > 0; },
     to_transformers},
    {"/model/attention_sinks", "Attention sinks under Megatron are", other_framework,
     [](const Config& c) { return c.model.attention_sinks; }, to_transformers},
};

/// Its --optimizer muon: Adam steps embeddings, head, and all that is no matrix.
bool of_muon(const Config& c) { return c.recipe.optimizer == Optimizer::muon_adamw; }

constexpr Missing<Config> of_core[] = {
    {"/model/positions", "ALiBi under Megatron-Core is", deepspeed_too,
     [](const Config& c) { return c.model.positions == Positions::alibi; }, to_transformers},
    {"/model/embedding_norm", "A norm after the embedding, under Megatron-Core, is", deepspeed_too,
     [](const Config& c) { return c.model.embedding_norm; }, to_transformers},
    {"/recipe/data_parallel", "This way of data parallelism, under Megatron, is",
     "Choose ddp, with distributed_optimizer true to divide the optimizer states.",
     [](const Config& c) {
       return c.recipe.data_parallel != DataParallel::ddp && c.recipe.data_parallel != DataParallel::zero1;
     },
     "ddp"},
    {"/recipe/precision", "This precision under Megatron is", "Choose bf16_mixed, fp16_mixed or fp32.",
     [](const Config& c) {
       switch (c.recipe.precision) {
         case Precision::bf16_mixed:
         case Precision::fp16_mixed:
         case Precision::fp32:
         case Precision::fp8: return false;
         default: return true;
       }
     },
     "bf16_mixed"},
    {"/recipe/transformer_engine", "fp8 without Transformer Engine is", "Set it to true.",
     [](const Config& c) { return c.recipe.precision == Precision::fp8 && !c.recipe.transformer_engine; }, "1"},
    {"/recipe/grouped_experts", "fp8 of experts that run one after another is", "Set it to true.",
     [](const Config& c) {
       return c.recipe.precision == Precision::fp8 && c.model.experts.num_experts > 0 && !c.recipe.grouped_experts;
     },
     "1"},
    {"/recipe/fp8_recipe", "MXFP8, which Transformer Engine has for Blackwell alone, on another GPU is",
     "Choose blockwise.",
     [](const Config& c) {
       return c.recipe.fp8_recipe == Fp8Recipe::mxfp8 && c.gpu.architecture != GpuArchitecture::blackwell;
     },
     "blockwise"},
    {"/recipe/weights_dtype", "fp8 parameters whose numbers share their scale in blocks are", "Set it to auto.",
     [](const Config& c) {
       return c.recipe.fp8_recipe != Fp8Recipe::tensorwise && c.recipe.weights_dtype == DType::float8;
     },
     "auto"},
    {"/recipe/pipeline_schedule", "A zero-bubble schedule of fp8 products is", "Choose 1f1b.",
     [](const Config& c) {
       return c.recipe.precision == Precision::fp8 && c.recipe.pipeline_parallel > 1 &&
              c.recipe.pipeline_schedule == PipelineSchedule::zero_bubble;
     },
     "1f1b"},
    {"/recipe/attention", "A fused attention kernel without Transformer Engine is",
     "Choose eager, or set transformer_engine to true.",
     [](const Config& c) {
       return !c.recipe.transformer_engine && c.recipe.attention != AttentionKernel::eager &&
              c.recipe.attention != AttentionKernel::sdpa_math;
     },
     "eager"},
    {"/recipe/attention", "This attention kernel under Megatron is", "Choose sdpa, flash or eager.",
     [](const Config& c) { return c.recipe.attention == AttentionKernel::sdpa_math; }, "sdpa"},
    {"/recipe/loss", "This loss under Megatron is", "Choose vocabulary_parallel or fused.",
     [](const Config& c) { return c.recipe.loss == Loss::chunked || c.recipe.loss == Loss::fused_linear; },
     "vocabulary_parallel"},
    {"/recipe/tensor_parallel", "Muon with tensor parallelism under Megatron is", "Set it to 1.",
     [](const Config& c) {
       return of_muon(c) && (c.recipe.tensor_parallel > 1 || c.recipe.expert_tensor_parallel > 1);
     },
     "1"},
    {"/recipe/precision", "Muon with fp16 or fp8 weights under Megatron is", "Choose bf16_mixed or fp32.",
     [](const Config& c) {
       return of_muon(c) && (c.recipe.precision == Precision::fp16_mixed || c.recipe.precision == Precision::fp8);
     },
     "bf16_mixed"},
    {"/recipe/offload_optimizer", "Muon in host memory is", "Set it to false.",
     [](const Config& c) { return of_muon(c) && c.recipe.offload_optimizer; }, "0"},
    {"/recipe/optimizer", "This optimizer under Megatron is", "Choose adamw, sgd_momentum or muon_adamw.",
     [](const Config& c) {
       switch (c.recipe.optimizer) {
         case Optimizer::muon_adamw:
         case Optimizer::adamw:
         case Optimizer::sgd:
         case Optimizer::sgd_momentum: return false;
         default: return true;
       }
     },
     "adamw"},
};

}  // namespace

void report_not_modelled_megatron(const Config& config, Issues& issues) {
  report_not_modelled_megatron_layers(config, issues);
  report<Config>(of_core, config, issues);
}

void report_not_modelled_megatron_layers(const Config& config, Issues& issues) {
  report<Config>(of_layers, config, issues);
}

}  // namespace trainmem
