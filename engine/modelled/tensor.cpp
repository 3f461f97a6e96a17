// What tensor parallelism of DTensors and of transformers' plans (parallel/tensor.h) does not do yet.
#include "engine/parallel/tensor.h"

#include "engine/blocks/transformers/llama_form.h"
#include "engine/config/shard_group.h"
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"

namespace trainmem {
namespace {

/// Blocks of Llama's attention and MLP, in whatever order beside their norms.
bool has_llama_layers(const Model& model) {
  using Turning = transformers::LlamaForm::Turning;
  using Block = transformers::LlamaForm::BlockForm;
  const transformers::LlamaForm* form = transformers::llama_form(model);
  const bool block = form != nullptr && (form->block == Block::llama || form->block == Block::gemma2 ||
                                         form->block == Block::olmo2 || form->block == Block::cohere);
  return block && !form->sub_norms && !form->fused_attention && !form->fused_mlp && !form->scaled_queries &&
         form->norm != NormLayer::Form::nanochat && model.hidden_act != Activation::xielu &&
         form->turning != Turning::three_positions && form->turning != Turning::interleaved_positions &&
         form->turning != Turning::interleaved_partial && !form->gated_attention &&
         form->output_gate == transformers::LlamaForm::OutputGate::none;
}

constexpr const char* one_gpu = "Set tensor_parallel to 1, or choose framework megatron.";
constexpr const char* without_adapters = "Set tensor_parallel to 1, or rank to 0.";
constexpr SettledBy to_one_gpu{"/recipe/tensor_parallel", "1"};

constexpr Missing<Config> of_dtensors[] = {
    {"/model/model_type", "Tensor parallelism of this model type is", one_gpu,
     [](const Config& c) { return !has_llama_layers(c.model); }, to_one_gpu},
    {"/model/experts/num_experts", "Tensor parallelism of experts is", one_gpu,
     [](const Config& c) { return c.model.experts.num_experts > 0; }, to_one_gpu},
    {"/model/latent_attention/kv_lora_rank", "Tensor parallelism of latent attention is", one_gpu,
     [](const Config& c) { return c.model.latent_attention.kv_lora_rank > 0; }, to_one_gpu},
    {"/model/tie_word_embeddings", "Tensor parallelism with tied embeddings is", one_gpu,
     [](const Config& c) { return c.model.tie_word_embeddings; }, to_one_gpu},
    {"/model/qk_norm", "Tensor parallelism with norms over all heads is", one_gpu,
     [](const Config& c) { return c.model.qk_norm == QkNorm::full; }, to_one_gpu},
    {"/model/qk_norm", "Tensor parallelism of torchtitan with normalised heads is", one_gpu,
     [](const Config& c) { return c.model.qk_norm != QkNorm::none && c.recipe.framework == Framework::torchtitan; },
     to_one_gpu},
    // The model makes its mask for the part of the sequence that the embedding gives it.
    {"/model/sliding_window",
     "Sequence parallelism with windows shorter than the sequence is",
     "Set sequence_parallel to false.",
     [](const Config& c) {
       return c.recipe.sequence_parallel && c.model.sliding_window > 0 &&
              c.model.sliding_window < c.recipe.sequence_length.value();
     },
     {"/recipe/sequence_parallel", "0"}},
    {"/recipe/attention", "Sequence parallelism with eager attention is", "Choose sdpa.",
     [](const Config& c) { return c.recipe.sequence_parallel && c.recipe.attention == AttentionKernel::eager; },
     "sdpa"},
    {"/model/vocab_size", "A vocabulary that tensor_parallel does not divide is", one_gpu,
     [](const Config& c) { return c.model.vocab_size % c.recipe.tensor_parallel != 0; }, to_one_gpu},
    {"/recipe/data_parallel", "Tensor parallelism beside data parallelism other than FSDP2 is",
     "Choose fsdp, version 2.",
     [](const Config& c) { return c.recipe.data_parallel_size > 1 && !uses_fsdp2(c.recipe); }, "fsdp"},
    {"/recipe/lora/rank", "Tensor parallelism with LoRA is", without_adapters,
     [](const Config& c) { return c.recipe.lora.rank > 0; }, to_one_gpu},
    {"/recipe/loss", "This loss with tensor parallelism is", "Choose full or vocabulary_parallel.",
     [](const Config& c) { return c.recipe.loss != Loss::full && c.recipe.loss != Loss::vocabulary_parallel; }, "full"},
};

constexpr const char* of_pytorch = "Choose framework pytorch: it divides Llama's models by DTensors.";
constexpr SettledBy to_pytorch{"/recipe/framework", "pytorch"};

constexpr Missing<Config> of_plans[] = {
    {"/model/model_type", "transformers' plan of tensor parallelism, of this model type, is", one_gpu,
     [](const Config& c) { return !has_tensor_parallel_plan(c.model); }, to_one_gpu},
    {"/model/qk_norm", "transformers' plan of tensor parallelism for norms over all heads is", one_gpu,
     [](const Config& c) { return c.model.qk_norm == QkNorm::full; }, to_one_gpu},
    {"/model/attention_output_bias", "transformers' plan of tensor parallelism for a bias of row-wise layers is",
     one_gpu, [](const Config& c) { return c.model.attention_output_bias || c.model.mlp_bias; }, to_one_gpu},
    {"/recipe/sequence_parallel", "Sequence parallelism by transformers' plan is", of_pytorch,
     [](const Config& c) { return c.recipe.sequence_parallel; }, "0"},
    {"/recipe/data_parallel", "transformers' plan of tensor parallelism beside data parallelism is", of_pytorch,
     [](const Config& c) { return c.recipe.data_parallel_size > 1; }, to_pytorch},
    {"/recipe/lora/rank", "transformers' plan of tensor parallelism with LoRA is", without_adapters,
     [](const Config& c) { return c.recipe.lora.rank > 0; }, to_one_gpu},
    {"/recipe/loss", "This loss, by transformers' plan of tensor parallelism, is", "Choose full.",
     [](const Config& c) { return c.recipe.loss != Loss::full; }, "full"},
};

}  // namespace

void report_not_modelled_tensor(const Config& config, Issues& issues) {
  if (config.recipe.tensor_parallel <= 1) return;
  if (uses_tensor_parallel_plan(config.recipe)) return report<Config>(of_plans, config, issues);
  report<Config>(of_dtensors, config, issues);
}

}  // namespace trainmem
