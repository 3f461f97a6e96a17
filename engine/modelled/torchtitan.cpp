// What today's torchtitan (blocks/torchtitan, release current) does that is not modelled yet, or not at all; and which
// words are its alone.
#include "engine/config/shard_group.h"
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"

namespace trainmem {
namespace {

constexpr const char* older = "Set it to 1, or torchtitan_release to 0_2_2.";

constexpr Missing<Recipe> of_today[] = {
    {"/recipe/tensor_parallel",
     "Tensor parallelism of today's torchtitan, on plain tensors (spmd_types), is",
     older,
     [](const Recipe& r) { return r.tensor_parallel > 1; },
     {"/recipe/torchtitan_release", "0_2_2"}},
    {"/recipe/context_parallel",
     "Context parallelism of today's torchtitan, for FlexAttention, is",
     older,
     [](const Recipe& r) { return r.context_parallel > 1; },
     {"/recipe/torchtitan_release", "0_2_2"}},
    {"/recipe/compile_blocks",
     "Compiled blocks of today's torchtitan are",
     "Set it to false, or torchtitan_release to 0_2_2.",
     [](const Recipe& r) { return r.compile_blocks; },
     {"/recipe/torchtitan_release", "0_2_2"}},
    {"/recipe/data_parallel", "DDP under today's torchtitan, which replicates by fully_shard, is", "Choose fsdp.",
     [](const Recipe& r) { return r.data_parallel != DataParallel::fsdp && r.data_parallel_size > 1; }, "fsdp"},
    {"/recipe/fsdp_version", "FSDP1 under today's torchtitan is", "Set it to 2.",
     [](const Recipe& r) { return uses_fsdp1(r); }, "2"},
    {"/recipe/fsdp_wrap_embeddings", "Another grouping than torchtitan's of today is", "Set it to true.",
     [](const Recipe& r) { return !r.fsdp_wrap_embeddings; }, "1"},
    {"/recipe/reshard_after_forward", "What torchtitan did before August 2025, under its code of today, is",
     "Choose auto.", [](const Recipe& r) { return r.reshard_after_forward == Reshard::all_but_last; }, "auto"},
    {"/recipe/precision", "Autocast under today's torchtitan, which shards on one GPU too, is", "Choose fsdp_bf16.",
     [](const Recipe& r) { return r.precision == Precision::bf16_autocast || r.precision == Precision::fp16_autocast; },
     "fsdp_bf16"},
    {"/recipe/recomputation", "Recomputation of every k-th layer, which today's torchtitan has no more, is",
     "Choose full or selective_operations.", [](const Recipe& r) { return r.recomputation == Recomputation::every_k; },
     "selective_operations"},
    {"/recipe/attention", "Another attention than FlexAttention, which sdpa stands for, under today's torchtitan is",
     "Choose sdpa.", [](const Recipe& r) { return r.attention != AttentionKernel::sdpa; }, "sdpa"},
    {"/recipe/fused_norm", "A norm written out, under today's torchtitan, is", "Set it to true.",
     [](const Recipe& r) { return !r.fused_norm; }, "1"},
    {"/recipe/loss", "A loss in chunks with the head, on a pipeline's last stage, is", "Choose full.",
     [](const Recipe& r) { return r.loss == Loss::chunked && r.pipeline_parallel > 1; }, "full"},
    {"/recipe/lora/rank", "LoRA of today's torchtitan is", "Set it to 0.",
     [](const Recipe& r) { return r.lora.rank > 0; }, "0"},
};

constexpr Missing<Recipe> of_others[] = {
    {"/recipe/cuda_graphs", "CUDA graphs elsewhere than in today's torchtitan are", "Set it to false.",
     [](const Recipe& r) { return r.cuda_graphs; }, "0"},
};

constexpr Missing<Recipe> of_other_frameworks[] = {
    {"/recipe/torchtitan_release", "A release of torchtitan under another framework is", "Set it to 0_2_2.",
     [](const Recipe& r) { return r.torchtitan_release != Recipe{}.torchtitan_release; }, "0_2_2"},
};

}  // namespace

void report_not_modelled_torchtitan(const Config& config, Issues& issues) {
  const Recipe& recipe = config.recipe;
  const bool torchtitan = recipe.framework == Framework::torchtitan;
  const bool today = torchtitan && recipe.torchtitan_release == TorchtitanRelease::current;
  if (today) report<Recipe>(of_today, recipe, issues);
  if (!today) report<Recipe>(of_others, recipe, issues);
  if (!torchtitan) report<Recipe>(of_other_frameworks, recipe, issues);
}

}  // namespace trainmem
