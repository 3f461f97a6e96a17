// What llm-foundry's step (blocks/llm_foundry) does not do, in llm-foundry itself or here.
#include "engine/config/shard_group.h"
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"

namespace trainmem {
namespace {

bool divided(const Recipe& r) { return r.data_parallel_size > 1; }

constexpr Missing<Config> all_missing[] = {
    {"/model/positions", "RoPE under llm-foundry is", "Choose learned, alibi or none.",
     [](const Config& c) { return c.model.positions == Positions::rope; }, "learned"},
    {"/model/tie_word_embeddings", "A head of its own under llm-foundry is", "Set it to true.",
     [](const Config& c) { return !c.model.tie_word_embeddings; }, "1"},
    {"/model/norm", "RMSNorm under llm-foundry is", "Choose layernorm.",
     [](const Config& c) { return c.model.norm != Norm::layernorm; }, "layernorm"},
    {"/model/norm_weight", "A norm without a weight under llm-foundry is", "Set it to true.",
     [](const Config& c) { return !c.model.norm_weight; }, "1"},
    {"/model/norm_placement", "Norms elsewhere than before attention and MLP under llm-foundry are", "Choose pre.",
     [](const Config& c) { return c.model.norm_placement != NormPlacement::pre || c.model.norms_per_layer != 2; },
     "pre"},
    {"/model/gated_mlp", "A gated MLP under llm-foundry is", "Set it to false.",
     [](const Config& c) { return c.model.gated_mlp; }, "0"},
    {"/model/qk_norm", "Norms of queries and keys under llm-foundry are", "Choose none.",
     [](const Config& c) { return c.model.qk_norm != QkNorm::none; }, "none"},
    {"/model/parallel_attention_mlp", "Attention and MLP side by side under llm-foundry are", "Set it to false.",
     [](const Config& c) { return c.model.parallel_attention_mlp; }, "0"},
    {"/model/embedding_norm", "A norm of the embeddings under llm-foundry is", "Set it to false.",
     [](const Config& c) { return c.model.embedding_norm; }, "0"},
    {"/model/sliding_window", "A sliding window under llm-foundry is", "Set it to 0.",
     [](const Config& c) { return c.model.sliding_window > 0; }, "0"},
    {"/model/final_logit_softcapping", "Capped logits under llm-foundry are", "Set it to 0.",
     [](const Config& c) { return c.model.final_logit_softcapping > 0; }, "0"},
    {"/model/attn_logit_softcapping", "Capped scores under llm-foundry are", "Set it to 0.",
     [](const Config& c) { return c.model.attn_logit_softcapping > 0; }, "0"},
    {"/model/experts/num_experts", "Experts under llm-foundry are", "Set it to 0.",
     [](const Config& c) { return c.model.experts.num_experts > 0; }, "0"},
    {"/model/head_dim", "Heads wider than flash attention takes are", "Set it to 256 or less.",
     [](const Config& c) { return c.model.head_dim.value() > 256; }},
    {"/recipe/tensor_parallel", "Tensor parallelism under llm-foundry is", "Set it to 1.",
     [](const Config& c) { return c.recipe.tensor_parallel > 1; }, "1"},
    {"/recipe/context_parallel", "Shared sequences under llm-foundry are", "Set it to 1.",
     [](const Config& c) { return c.recipe.context_parallel > 1; }, "1"},
    {"/recipe/pipeline_parallel", "A pipeline under llm-foundry is", "Set it to 1.",
     [](const Config& c) { return c.recipe.pipeline_parallel > 1; }, "1"},
    {"/recipe/data_parallel", "Data parallelism other than FSDP under llm-foundry is", "Choose fsdp.",
     [](const Config& c) { return divided(c.recipe) && c.recipe.data_parallel != DataParallel::fsdp; }, "fsdp"},
    {"/recipe/fsdp_version", "FSDP2 under llm-foundry is", "Set it to 1.",
     [](const Config& c) { return uses_fsdp2(c.recipe); }, "1"},
    {"/recipe/fsdp_wrap_embeddings", "Composer's FSDP with embeddings that belong to the root is", "Set it to true.",
     [](const Config& c) { return uses_fsdp1(c.recipe) && !c.recipe.fsdp_wrap_embeddings; }, "1"},
    {"/recipe/precision", "Weights in 16 bits, or fp32 in flash attention, under llm-foundry are",
     "Choose fsdp_bf16, bf16_autocast or fp16_autocast.",
     [](const Config& c) {
       const Precision p = c.recipe.precision;
       return p != Precision::fsdp_bf16 && p != Precision::bf16_autocast && p != Precision::fp16_autocast;
     },
     "fsdp_bf16"},
    {"/recipe/loss", "This loss under llm-foundry is", "Choose fused, its default.",
     [](const Config& c) { return c.recipe.loss != Loss::fused; }, "fused"},
    {"/recipe/attention", "Another attention than flash attention under llm-foundry is", "Choose flash.",
     [](const Config& c) { return c.recipe.attention != AttentionKernel::flash; }, "flash"},
    {"/recipe/recomputation", "Recomputation of other parts than whole blocks under llm-foundry is",
     "Choose none or full.",
     [](const Config& c) {
       return c.recipe.recomputation != Recomputation::none && c.recipe.recomputation != Recomputation::full;
     },
     "full"},
    {"/recipe/recomputation_reentrant", "Re-entrant recomputation under llm-foundry is", "Set it to false.",
     [](const Config& c) { return c.recipe.recomputation_reentrant && c.recipe.recomputation != Recomputation::none; },
     "0"},
    {"/recipe/lora/rank", "LoRA under llm-foundry is", "Set it to 0.",
     [](const Config& c) { return c.recipe.lora.rank > 0; }, "0"},
    {"/recipe/compile_blocks", "torch.compile under llm-foundry is", "Set it to false.",
     [](const Config& c) { return c.recipe.compile_blocks; }, "0"},
    {"/recipe/compile_loss", "A compiled loss under llm-foundry is", "Set it to false.",
     [](const Config& c) { return c.recipe.compile_loss; }, "0"},
    {"/recipe/transformers_release", "An older release of transformers under llm-foundry is", "Set it to current.",
     [](const Config& c) { return c.recipe.transformers_release != TransformersRelease::current; }, "current"},
    {"/recipe/fused_norm", "A fused norm under llm-foundry is", "Set it to false.",
     [](const Config& c) { return c.recipe.fused_norm; }, "0"},
    {"/recipe/fused_mlp", "A fused MLP under llm-foundry is", "Set it to false.",
     [](const Config& c) { return c.recipe.fused_mlp; }, "0"},
    {"/recipe/fused_rope", "A fused rotary embedding under llm-foundry is", "Set it to false.",
     [](const Config& c) { return c.recipe.fused_rope; }, "0"},
};

}  // namespace

void report_not_modelled_llm_foundry(const Config& config, Issues& issues) {
  report<Config>(all_missing, config, issues);
}

}  // namespace trainmem
