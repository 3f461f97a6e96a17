// What litgpt's step (blocks/litgpt) does not do, in litgpt itself or here.
#include "engine/blocks/litgpt/loss.h"
#include "engine/config/shard_group.h"
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"

namespace trainmem {
namespace {

bool divided(const Recipe& r) { return r.data_parallel_size > 1; }

/// Each chunk of the loss is run: so many take seconds.
constexpr std::int64_t most_chunks = 1 << 15;

constexpr Missing<Config> all_missing[] = {
    {"/model/tie_word_embeddings", "A head that is the embedding, which litgpt never ties, is", "Set it to false.",
     [](const Config& c) { return c.model.tie_word_embeddings; }, "0"},
    {"/model/sliding_window", "A sliding window under litgpt is", "Set it to 0.",
     [](const Config& c) { return c.model.sliding_window > 0; }, "0"},
    {"/model/attention_dropout", "Dropout, which litgpt has none of, is", "Set it to 0.",
     [](const Config& c) { return c.model.attention_dropout > 0; }, "0"},
    {"/model/hidden_dropout", "Dropout, which litgpt has none of, is", "Set it to 0.",
     [](const Config& c) { return c.model.hidden_dropout > 0; }, "0"},
    {"/model/embedding_dropout", "Dropout, which litgpt has none of, is", "Set it to 0.",
     [](const Config& c) { return c.model.embedding_dropout > 0; }, "0"},
    {"/recipe/tensor_parallel", "Tensor parallelism under litgpt is", "Set it to 1.",
     [](const Config& c) { return c.recipe.tensor_parallel > 1; }, "1"},
    {"/recipe/context_parallel", "Shared sequences under litgpt are", "Set it to 1.",
     [](const Config& c) { return c.recipe.context_parallel > 1; }, "1"},
    {"/recipe/data_parallel", "Data parallelism other than FSDP under litgpt is", "Choose fsdp.",
     [](const Config& c) { return divided(c.recipe) && c.recipe.data_parallel != DataParallel::fsdp; }, "fsdp"},
    {"/recipe/fsdp_version", "FSDP2 under litgpt is", "Set it to 1.",
     [](const Config& c) {
       const bool wrapped = divided(c.recipe) || c.recipe.precision == Precision::fsdp_bf16;
       return wrapped && uses_fsdp2(c.recipe);
     },
     "1"},
    {"/recipe/precision", "FSDP's mixed precision under litgpt on one GPU, where it shards nothing, is",
     "Choose bf16, bf16_autocast or fp32.",
     [](const Config& c) { return c.recipe.precision == Precision::fsdp_bf16 && !divided(c.recipe); }, "bf16"},
    {"/recipe/lora/rank",
     "LoRA over several GPUs under litgpt is",
     "Set data_parallel_size to 1.",
     [](const Config& c) { return divided(c.recipe) && c.recipe.lora.rank > 0; },
     {"/recipe/data_parallel_size", "1"}},
    {"/recipe/loss", "This loss under litgpt is", "Choose chunked, as its fine-tuning does, or full.",
     [](const Config& c) { return c.recipe.loss != Loss::chunked && c.recipe.loss != Loss::full; }, "chunked"},
    {"/recipe/sequence_length",
     "A loss of more than 32,768 chunks of 128 tokens under litgpt is",
     "Give fewer tokens, or choose the full loss.",
     [](const Config& c) {
       const std::int64_t tokens = c.recipe.micro_batch_size * c.recipe.sequence_length;
       return c.recipe.loss == Loss::chunked && tokens / litgpt::chunk_size > most_chunks;
     },
     {"/recipe/loss", "full"}},
    {"/recipe/attention", "Another attention than SDPA under litgpt is", "Choose sdpa.",
     [](const Config& c) {
       return c.recipe.attention != AttentionKernel::sdpa && c.recipe.attention != AttentionKernel::sdpa_math;
     },
     "sdpa"},
    {"/recipe/recomputation", "Recomputation of other parts than whole blocks under litgpt is", "Choose none or full.",
     [](const Config& c) {
       return c.recipe.recomputation != Recomputation::none && c.recipe.recomputation != Recomputation::full;
     },
     "full"},
    {"/recipe/recomputation_reentrant", "Re-entrant recomputation under litgpt is", "Set it to false.",
     [](const Config& c) { return c.recipe.recomputation_reentrant && c.recipe.recomputation != Recomputation::none; },
     "0"},
    // finetune/lora.py, main: StableEmbedding, made after the optimizer, gets gradients that nothing lets go of.
    {"/recipe/quantization", "Quantised weights under litgpt are", "Set it to none.",
     [](const Config& c) { return c.recipe.quantization != Quantization::none; }, "none"},
    {"/recipe/compile_blocks", "torch.compile under litgpt is", "Set it to false.",
     [](const Config& c) { return c.recipe.compile_blocks; }, "0"},
    {"/recipe/compile_loss", "A compiled loss under litgpt is", "Set it to false.",
     [](const Config& c) { return c.recipe.compile_loss; }, "0"},
    {"/recipe/transformers_release", "An older release of transformers under litgpt is", "Set it to current.",
     [](const Config& c) { return c.recipe.transformers_release != TransformersRelease::current; }, "current"},
    {"/recipe/fused_norm", "A fused norm under litgpt is", "Set it to false.",
     [](const Config& c) { return c.recipe.fused_norm; }, "0"},
    {"/recipe/fused_mlp", "A fused MLP under litgpt is", "Set it to false.",
     [](const Config& c) { return c.recipe.fused_mlp; }, "0"},
    {"/recipe/fused_rope", "A fused rotary embedding under litgpt is", "Set it to false.",
     [](const Config& c) { return c.recipe.fused_rope; }, "0"},
};

}  // namespace

void report_not_modelled_litgpt(const Config& config, Issues& issues) { report<Config>(all_missing, config, issues); }

}  // namespace trainmem
