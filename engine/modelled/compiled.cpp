// What is not modelled of torch.compile (tensor/compiled.cpp).
#include "engine/blocks/adapter_format.h"
#include "engine/blocks/transformers/llama_form.h"
#include "engine/config/formats.h"
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"

namespace trainmem {
namespace {

bool is_gpt2(const Model& m) {
  const bool activates = m.hidden_act == Activation::gelu || m.hidden_act == Activation::gelu_new ||
                         m.hidden_act == Activation::gelu_pytorch_tanh || m.hidden_act == Activation::gelu_fast;
  return m.model_type == "gpt2" && activates;
}

/// Blocks of which a partition was recorded: GPT-2's, and Llama's with its RMSNorm or Gemma's, whole heads turned,
/// gated MLP.
bool has_compiled_block(const Model& m) {
  if (is_gpt2(m)) return true;
  const transformers::LlamaForm* form = transformers::llama_form(m);
  return form != nullptr && form->block == transformers::LlamaForm::BlockForm::llama && !form->fused_attention &&
         !form->fused_mlp && form->query_key_norm != transformers::LlamaForm::QueryKeyNorm::turned &&
         !form->sub_norms && !form->multipliers && !form->scaled_residuals && !form->scaled_queries &&
         form->turning == transformers::LlamaForm::Turning::whole && m.norm == Norm::rmsnorm &&
         (form->norm == NormLayer::Form::llama || form->norm == NormLayer::Form::gemma) && m.gated_mlp &&
         m.experts.num_experts == 0 && m.latent_attention.kv_lora_rank == 0 && m.qk_norm != QkNorm::full;
}

bool adapters_compile(const Recipe& recipe) {
  return recipe.lora.rank == 0 || (recipe.lora.dropout == 0 && adapter_format(recipe) == formats(recipe).weights);
}

constexpr const char* eager = "Set it to false.";

constexpr Missing<Config> of_blocks[] = {
    {"/recipe/compile_blocks", "torch.compile of blocks of this model is", eager,
     [](const Config& c) { return !has_compiled_block(c.model); }, "0"},
    {"/recipe/compile_blocks", "torch.compile of blocks of this framework is", eager,
     [](const Config& c) { return c.recipe.framework == Framework::megatron; }, "0"},
    {"/recipe/compile_blocks", "torch.compile of blocks with eager attention is",
     "Choose attention sdpa or flash, or set it to false.",
     [](const Config& c) {
       return c.recipe.attention == AttentionKernel::eager || c.recipe.attention == AttentionKernel::sdpa_math ||
              c.model.attention_sinks;
     },
     "0"},
    {"/recipe/compile_blocks", "torch.compile of adapters under autocast is",
     "Choose bf16, fp16, fp32 or fsdp_bf16, or set it to false.",
     [](const Config& c) { return c.recipe.lora.rank > 0 && formats(c.recipe).autocast != DType::automatic; }, "0"},
    {"/recipe/compile_blocks", "torch.compile of adapters with dropout, or in another format than the weights', is",
     "Set lora.dropout to 0 and lora.adapter_dtype to the weights' format, or this to false.",
     [](const Config& c) { return !adapters_compile(c.recipe); }, "0"},
    {"/recipe/compile_blocks", "torch.compile of blocks with ZeRO-3 or a zero-bubble schedule is", eager,
     [](const Config& c) {
       return c.recipe.data_parallel == DataParallel::zero3 ||
              (c.recipe.pipeline_parallel > 1 && c.recipe.pipeline_schedule == PipelineSchedule::zero_bubble);
     },
     "0"},
    {"/recipe/compile_blocks", "torch.compile of blocks with kernels of a library is",
     "Set fused_norm, fused_mlp, fused_rope and lora.fused to false, or this.",
     [](const Config& c) {
       return c.recipe.framework != Framework::torchtitan &&
              (c.recipe.fused_norm || c.recipe.fused_mlp || c.recipe.fused_rope || c.recipe.lora.fused);
     },
     "0"},
};

}  // namespace

void report_not_modelled_compiled(const Config& config, Issues& issues) {
  const Recipe& recipe = config.recipe;
  if (recipe.compile_blocks) report<Config>(of_blocks, config, issues);
  if (!recipe.compile_loss && recipe.loss != Loss::compiled) return;
  // Megatron's own compiled loss is a word of its loss, whatever divides the vocabulary.
  if (!recipe.compile_loss && recipe.framework == Framework::megatron) return;
  const bool known = recipe.loss == Loss::full || recipe.loss == Loss::compiled || recipe.loss == Loss::chunked;
  if (known && recipe.tensor_parallel == 1 && recipe.framework != Framework::megatron) return;
  issues.push_back({"not_yet_modelled", recipe.compile_loss ? "/recipe/compile_loss" : "/recipe/loss",
                    "torch.compile of this loss, of a vocabulary that is divided, or in Megatron is not yet modelled.",
                    recipe.compile_loss ? eager : "Choose full.",
                    recipe.compile_loss ? Fix{"/recipe/compile_loss", "0"} : Fix{"/recipe/loss", "full"}});
}

}  // namespace trainmem
