// What is not modelled of objectives other than the next token, and of parts that are frozen.
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

/// The model without its adapters is the reference.
bool is_shards_of_zero3(const Recipe& r) {
  return reference_of(r) == ReferenceModel::base && sharded(r) && r.data_parallel == DataParallel::zero3;
}

bool copies_shards(const Recipe& r) {
  const bool zero3 = r.data_parallel == DataParallel::zero3;
  return holds_reference(r) && sharded(r) && (zero3 || r.quantization != Quantization::none || r.offload_parameters);
}

constexpr Missing<Config> all_missing[] = {
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
       const bool zero3 = c.recipe.data_parallel == DataParallel::zero3 && sharded(c.recipe);
       return zero3 && c.recipe.objective == Objective::grpo && c.recipe.old_log_probabilities;
     },
     "0"},
    {"/recipe/reference_model", "A reference without adapters whose weights are shards is",
     "Choose precomputed, or data_parallel ddp.",
     [](const Config& c) { return takes_preferences(c.recipe) && is_shards_of_zero3(c.recipe); }, "precomputed"},
    {"/recipe/reference_model", "A copy of the weights under ZeRO-3, or of quantised weights that are shards, is",
     "Choose precomputed, or data_parallel zero2, fsdp or ddp.",
     [](const Config& c) { return takes_preferences(c.recipe) && copies_shards(c.recipe); }, "precomputed"},
    {"/recipe/reference_model", "A reference under ZeRO-3, or a copy of quantised weights that are shards, is",
     "Choose none, or data_parallel zero2, fsdp or ddp.",
     [](const Config& c) {
       return c.recipe.objective == Objective::grpo && (is_shards_of_zero3(c.recipe) || copies_shards(c.recipe));
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
