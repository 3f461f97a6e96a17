// What is not modelled of objectives other than the next token, and of parts that are frozen.
#include "engine/config/deepspeed.h"
#include "engine/config/shard_group.h"
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"
#include "engine/training/preference.h"

namespace trainmem {
namespace {

bool prefers(const Recipe& r) { return r.objective == Objective::dpo; }
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

constexpr Missing<Config> all_missing[] = {
    {"/recipe/objective", "Preference tuning outside TRL's trainer is", "Choose framework transformers or deepspeed.",
     [](const Config& c) { return prefers(c.recipe) && !of_transformers(c.recipe); }, to_transformers},
    {"/recipe/objective", "Preference tuning beside tensor, pipeline, context or expert parallelism is",
     "Set them to 1, or choose next_token.", [](const Config& c) { return prefers(c.recipe) && divided(c.recipe); },
     "next_token"},
    {"/recipe/objective",
     "Preference tuning with compiled blocks is",
     "Set compile_blocks to false.",
     [](const Config& c) { return prefers(c.recipe) && c.recipe.compile_blocks; },
     {"/recipe/compile_blocks", "0"}},
    {"/recipe/loss", "A loss of preferences other than that of full logits is", "Choose full.",
     [](const Config& c) { return prefers(c.recipe) && (c.recipe.loss != Loss::full || c.recipe.compile_loss); },
     "full"},
    // TRL models/utils.py, disable_gradient_checkpointing: after the reference's forward every layer is recomputed.
    {"/recipe/recomputation", "Recomputation of some layers beside a reference's forward, after which all are, is",
     "Choose full or none.",
     [](const Config& c) {
       return prefers(c.recipe) && c.recipe.recomputation == Recomputation::every_k &&
              reference_of(c.recipe) != ReferenceModel::precomputed;
     },
     "full"},
    {"/recipe/transformers_release", "Preference tuning of an older transformers is", "Choose current.",
     [](const Config& c) { return prefers(c.recipe) && c.recipe.transformers_release != TransformersRelease::current; },
     "current"},
    {"/model/experts/router_auxiliary_loss", "A loss of the routers beside that of preferences is", "Choose none.",
     [](const Config& c) {
       return prefers(c.recipe) && c.model.experts.router_auxiliary_loss != RouterAuxiliaryLoss::none;
     },
     "none"},
    {"/recipe/lora/fused", "Preference tuning with fused adapters is", "Set it to false.",
     [](const Config& c) { return prefers(c.recipe) && c.recipe.lora.rank > 0 && c.recipe.lora.fused; }, "0"},
    {"/recipe/reference_model", "A reference without adapters whose weights are shards is",
     "Choose precomputed, or data_parallel ddp.",
     [](const Config& c) {
       return prefers(c.recipe) && reference_of(c.recipe) == ReferenceModel::base && sharded(c.recipe) &&
              c.recipe.data_parallel == DataParallel::zero3;
     },
     "precomputed"},
    {"/recipe/reference_model", "A copy of the weights under ZeRO-3, or of quantised weights that are shards, is",
     "Choose precomputed, or data_parallel zero2, fsdp or ddp.",
     [](const Config& c) {
       const bool zero3 = c.recipe.data_parallel == DataParallel::zero3;
       return holds_reference(c.recipe) && sharded(c.recipe) &&
              (zero3 || c.recipe.quantization != Quantization::none || c.recipe.offload_parameters);
     },
     "precomputed"},
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
