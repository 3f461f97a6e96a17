// What is not modelled of objectives other than the next token, of smoothed labels, of batches that are padded, and of
// parts that are frozen.
#include "engine/config/deepspeed.h"
#include "engine/config/sequences.h"
#include "engine/config/shard_group.h"
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"
#include "engine/parameters/trained_model.h"
#include "engine/training/reference_model.h"

namespace trainmem {
namespace {

/// Whether a trainer of TRL's runs the step.
bool of_trl(const Recipe& r) { return r.objective != Objective::next_token; }
bool freezes(const Recipe& r) { return r.frozen_layers > 0 || r.frozen_head; }

/// transformers' layers under its own trainer, or under DeepSpeed's ZeRO.
bool of_transformers(const Recipe& r) {
  if (r.framework == Framework::deepspeed) return !uses_megatron_deepspeed(r);
  return r.framework == Framework::transformers || r.framework == Framework::pytorch;
}

bool divided(const Recipe& r) {
  return r.tensor_parallel * r.pipeline_parallel * r.context_parallel * r.expert_parallel > 1;
}

bool sharded(const Recipe& r) {
  return (r.data_parallel == DataParallel::fsdp || r.data_parallel == DataParallel::zero3) && r.data_parallel_size > 1;
}

bool smooths(const Recipe& r) { return r.loss == Loss::label_smoothing; }

bool of_older_transformers(const Recipe& r) {
  return r.transformers_release != TransformersRelease::current || r.loss == Loss::legacy;
}

bool of_zero3(const Recipe& r) { return r.data_parallel == DataParallel::zero3 && sharded(r); }

/// The model without its adapters is the reference.
bool is_shards_of_zero3(const Recipe& r) { return reference_of(r) == ReferenceModel::base && of_zero3(r); }

bool copies_quantised_shards(const Recipe& r) {
  return holds_reference(r) && sharded(r) && (r.quantization != Quantization::none || r.offload_parameters);
}

constexpr Missing<Config> all_missing[] = {
    {"/recipe/padding", "Padded batches outside transformers' models are",
     "Choose framework transformers or deepspeed, or set it to false.",
     [](const Config& c) {
       return c.recipe.padding && (!of_transformers(c.recipe) || c.model.model_type == "deepseek");
     },
     "0"},
    {"/recipe/padding", "Padded batches beside tensor, pipeline, context or expert parallelism are",
     "Set it to false, or these to 1.", [](const Config& c) { return c.recipe.padding && divided(c.recipe); }, "0"},
    {"/recipe/padding", "Padded batches of compiled blocks, or of an older transformers, are", "Set it to false.",
     [](const Config& c) { return c.recipe.padding && (c.recipe.compile_blocks || of_older_transformers(c.recipe)); },
     "0"},
    {"/recipe/padding",
     "Padded batches with flash attention where values are narrower than queries, or beside attention sinks, are",
     "Choose attention sdpa or eager.",
     [](const Config& c) {
       const LatentAttention& latent = c.model.latent_attention;
       const bool narrower =
           latent.kv_lora_rank > 0 && latent.v_head_dim != latent.qk_nope_head_dim + latent.qk_rope_head_dim;
       return c.recipe.padding && c.recipe.attention == AttentionKernel::flash && (narrower || c.model.attention_sinks);
     },
     {"/recipe/attention", "sdpa"}},
    {"/recipe/loss", "Smoothed labels outside transformers' Trainer, or beside a divided model, are", "Choose full.",
     [](const Config& c) { return smooths(c.recipe) && (!of_transformers(c.recipe) || divided(c.recipe)); }, "full"},
    {"/recipe/loss", "Smoothed labels of an older transformers, or with compiled blocks or loss, are", "Choose full.",
     [](const Config& c) {
       const Recipe& r = c.recipe;
       return smooths(r) && (of_older_transformers(r) || r.compile_blocks || r.compile_loss);
     },
     "full"},
    {"/model/experts/router_auxiliary_loss", "A loss of the routers beside that of smoothed labels is", "Choose none.",
     [](const Config& c) {
       return smooths(c.recipe) && c.model.experts.router_auxiliary_loss != RouterAuxiliaryLoss::none;
     },
     "none"},
    {"/recipe/objective", "Objectives other than next_token outside TRL's trainers are",
     "Choose framework transformers or deepspeed.",
     [](const Config& c) { return of_trl(c.recipe) && !of_transformers(c.recipe); }, to_transformers},
    {"/recipe/objective", "Objectives other than next_token beside tensor, pipeline, context or expert parallelism are",
     "Set them to 1, or choose next_token.", [](const Config& c) { return of_trl(c.recipe) && divided(c.recipe); },
     "next_token"},
    {"/recipe/objective",
     "Objectives other than next_token with compiled blocks are",
     "Set compile_blocks to false.",
     [](const Config& c) { return of_trl(c.recipe) && c.recipe.compile_blocks; },
     {"/recipe/compile_blocks", "0"}},
    {"/recipe/loss", "Kernels of the loss for objectives other than next_token are", "Choose full.",
     [](const Config& c) { return of_trl(c.recipe) && (c.recipe.loss != Loss::full || c.recipe.compile_loss); },
     "full"},
    // TRL models/utils.py, disable_gradient_checkpointing: after the reference's forward every layer is recomputed.
    {"/recipe/recomputation", "Recomputation of some layers beside a forward without autograd, after which all are, is",
     "Choose full or none.",
     [](const Config& c) {
       const ReferenceModel reference = reference_of(c.recipe);
       const bool runs = reference == ReferenceModel::copy || reference == ReferenceModel::base;
       return c.recipe.recomputation == Recomputation::every_k && (runs || c.recipe.objective == Objective::grpo);
     },
     "full"},
    {"/recipe/transformers_release", "Objectives other than next_token of an older transformers are", "Choose current.",
     [](const Config& c) { return of_trl(c.recipe) && c.recipe.transformers_release != TransformersRelease::current; },
     "current"},
    {"/model/experts/router_auxiliary_loss", "A loss of the routers beside this objective is",
     "Choose none, or with grpo masked.",
     [](const Config& c) {
       const RouterAuxiliaryLoss loss = c.model.experts.router_auxiliary_loss;
       const bool counted = c.recipe.objective == Objective::grpo && loss == RouterAuxiliaryLoss::masked;
       return of_trl(c.recipe) && loss != RouterAuxiliaryLoss::none && !counted;
     },
     "none"},
    {"/recipe/lora/fused", "Objectives other than next_token with fused adapters are", "Set it to false.",
     [](const Config& c) { return of_trl(c.recipe) && c.recipe.lora.rank > 0 && c.recipe.lora.fused; }, "0"},
    {"/recipe/objective", "The score of a sequence in this family is", "Choose another objective or model.",
     [](const Config& c) { return c.recipe.objective == Objective::reward && !can_score_sequences(c.model); },
     "next_token"},
    {"/recipe/quantization", "Quantised weights with orpo, cpo and simpo are", "Choose none.",
     [](const Config& c) {
       const bool pairs = takes_pairs(c.recipe) && c.recipe.objective != Objective::dpo;
       return pairs && c.recipe.objective != Objective::reward && c.recipe.quantization != Quantization::none;
     },
     "none"},
    {"/recipe/old_log_probabilities", "Log-probabilities computed by weights that are ZeRO-3's shards are",
     "Set it to false, or choose data_parallel zero2, fsdp or ddp.",
     [](const Config& c) {
       return of_zero3(c.recipe) && c.recipe.objective == Objective::grpo && c.recipe.old_log_probabilities;
     },
     "0"},
    {"/recipe/objective",
     "KTO, which runs the policy without autograd, with weights that are ZeRO-3's shards is",
     "Choose data_parallel zero2, fsdp or ddp.",
     [](const Config& c) { return of_zero3(c.recipe) && c.recipe.objective == Objective::kto; },
     {"/recipe/data_parallel", "zero2"}},
    {"/recipe/reference_model", "A reference without adapters whose weights are shards is",
     "Choose precomputed, or data_parallel ddp.",
     [](const Config& c) { return takes_preferences(c.recipe) && is_shards_of_zero3(c.recipe); }, "precomputed"},
    {"/recipe/reference_model", "A copy of quantised weights, or of weights in host memory, that are shards, is",
     "Choose precomputed, or data_parallel zero2 or ddp.",
     [](const Config& c) { return takes_preferences(c.recipe) && copies_quantised_shards(c.recipe); }, "precomputed"},
    {"/recipe/reference_model", "A reference of grpo under ZeRO-3, or a copy of quantised weights that are shards, is",
     "Choose none, or data_parallel zero2, fsdp or ddp.",
     [](const Config& c) {
       const ReferenceModel reference = reference_of(c.recipe);
       const bool runs = reference == ReferenceModel::copy || reference == ReferenceModel::base;
       return c.recipe.objective == Objective::grpo &&
              ((runs && of_zero3(c.recipe)) || copies_quantised_shards(c.recipe));
     },
     "none"},
    {"/recipe/frozen_layers", "Frozen layers outside transformers' models, or beside a divided model, are",
     "Set it to 0, and frozen_head to false.",
     [](const Config& c) { return freezes(c.recipe) && (!of_transformers(c.recipe) || divided(c.recipe)); }, "0"},
    {"/recipe/frozen_layers", "Frozen layers of a model whose layers share weights are", "Set it to 0.",
     [](const Config& c) { return c.recipe.frozen_layers > 0 && c.model.num_mem_blocks > 0; }, "0"},
    {"/recipe/frozen_layers", "Frozen layers of OPT whose final norm is not of them are", "Freeze the head as well.",
     [](const Config& c) {
       return c.model.model_type == "opt" && (c.recipe.frozen_layers > 0) != c.recipe.frozen_head;
     }},
    {"/recipe/frozen_layers",
     "Frozen weights beside others in one flat parameter of FSDP1 are",
     "Choose fsdp_version 2, or freeze the head as well.",
     [](const Config& c) {
       const Recipe& r = c.recipe;
       const bool apart = r.fsdp_wrap_embeddings && !c.model.tie_word_embeddings;
       return uses_fsdp1(r) && (r.frozen_layers > 0) != r.frozen_head && !apart;
     },
     {"/recipe/fsdp_version", "2"}},
};

}  // namespace

void report_not_modelled_objective(const Config& config, Issues& issues) {
  report<Config>(all_missing, config, issues);
}

}  // namespace trainmem
