#include "engine/modelled/modelled.h"

#include <string>

#include "engine/blocks/torchtitan/llama.h"
#include "engine/blocks/transformers/llama_form.h"
#include "engine/blocks/transformers/model.h"
#include "engine/config/fields.h"
#include "engine/optimizer/facts.h"
#include "engine/step.h"

namespace trainmem {
namespace {

struct Missing {
  const char* path;
  const char* what;  ///< subject and verb of the sentence
  const char* hint;
  bool (*asked)(const Config&);
};

constexpr const char* other_sharding = "Set it to 1; tensor, pipeline and data parallelism are modelled.";
constexpr const char* dense_model = "Choose a dense model.";

/// One line for each missing feature.
constexpr Missing all_missing[] = {
    {"/model/model_type", "The forward of this model type is", "Choose a model of another family.",
     [](const Config& c) {
       return c.recipe.framework != Framework::megatron && make_architecture(c.model, c.recipe) == nullptr;
     }},
    {"/model/linear_attention_every", "Linear attention is", dense_model,
     [](const Config& c) { return c.model.linear_attention_every > 0; }},
    {"/recipe/fused_norm", "A fused norm of this model is", "Set it to false.",
     [](const Config& c) {
       return c.recipe.fused_norm && c.recipe.framework != Framework::megatron &&
              c.recipe.framework != Framework::torchtitan && !transformers::has_fused_norm(c.model);
     }},
    {"/recipe/fused_rope", "A fused rotary embedding of this model is", "Set it to false.",
     [](const Config& c) {
       return c.recipe.fused_rope && c.recipe.framework != Framework::megatron &&
              !transformers::has_fused_rope(c.model);
     }},
    {"/recipe/lora/rank", "LoRA under this framework or FSDP is", "Choose framework transformers, and one GPU or ddp.",
     [](const Config& c) {
       return c.recipe.lora.rank > 0 &&
              (c.recipe.framework == Framework::megatron || c.recipe.framework == Framework::torchtitan ||
               (c.recipe.data_parallel != DataParallel::ddp && c.recipe.data_parallel_size > 1));
     }},
    {"/recipe/lora/rank", "LoRA on Falcon is", "Choose a model of another family.",
     [](const Config& c) { return c.recipe.lora.rank > 0 && c.model.model_type == "falcon"; }},
    {"/recipe/quantization", "Training on 8-bit weights is", "Choose nf4 or nf4_double.",
     [](const Config& c) { return c.recipe.quantization == Quantization::int8; }},
    {"/recipe/quantization", "Quantised weights without LoRA are", "Give recipe.lora.rank, or set it to none.",
     [](const Config& c) { return c.recipe.quantization != Quantization::none && c.recipe.lora.rank == 0; }},
    {"/recipe/context_parallel", "Context parallelism is", other_sharding,
     [](const Config& c) { return c.recipe.context_parallel > 1; }},
    {"/recipe/precision", "fp8 is", "Choose a bf16 or fp16 precision.",
     [](const Config& c) { return c.recipe.precision == Precision::fp8; }},
    {"/recipe/offload_optimizer", "Offload is", "Set it to false.",
     [](const Config& c) { return c.recipe.offload_optimizer; }},
    {"/recipe/offload_parameters", "Offload is", "Set it to false.",
     [](const Config& c) { return c.recipe.offload_parameters; }},
    {"/recipe/offload_checkpoints", "Offload is", "Set it to false.",
     [](const Config& c) { return c.recipe.offload_checkpoints; }},
    {"/recipe/pipeline_schedule", "This pipeline schedule is", "Choose 1f1b.",
     [](const Config& c) {
       return c.recipe.pipeline_parallel > 1 &&
              c.recipe.pipeline_schedule != PipelineSchedule::one_forward_one_backward;
     }},
    {"/recipe/pipeline_parallel", "Pipeline parallelism outside Megatron is",
     "Choose framework megatron, or set it to 1.",
     [](const Config& c) { return c.recipe.pipeline_parallel > 1 && c.recipe.framework != Framework::megatron; }},
    {"/recipe/compile_blocks", "torch.compile of blocks is", "Set it to false.",
     [](const Config& c) { return c.recipe.compile_blocks; }},
    {"/recipe/compile_loss", "torch.compile of the loss is", "Set it to false.",
     [](const Config& c) { return c.recipe.compile_loss; }},
    {"/recipe/loss", "A compiled loss is", "Choose full.",
     [](const Config& c) { return c.recipe.loss == Loss::compiled; }},
    {"/recipe/recomputation", "Recomputation of every k-th layer under Megatron is",
     "Choose none, selective_attention or full.",
     [](const Config& c) {
       return c.recipe.recomputation == Recomputation::every_k && c.recipe.framework == Framework::megatron;
     }},
    {"/recipe/recomputation_reentrant", "Re-entrant recomputation of sharded layers is", "Set it to false.",
     [](const Config& c) {
       const bool sharded =
           c.recipe.data_parallel == DataParallel::fsdp || c.recipe.data_parallel == DataParallel::zero3;
       return c.recipe.recomputation != Recomputation::none && c.recipe.recomputation_reentrant && sharded &&
              c.recipe.data_parallel_size > 1 && c.recipe.framework != Framework::megatron;
     }},
    {"/recipe/recomputation", "Recomputation chosen by operations under Megatron is",
     "Choose none, selective_attention or full.",
     [](const Config& c) {
       return c.recipe.recomputation == Recomputation::selective_operations &&
              c.recipe.framework == Framework::megatron;
     }},
    {"/recipe/optimizer", "This optimizer is", "Choose another one.",
     [](const Config& c) { return !has_facts(c.recipe.optimizer); }},
};

/// Number formats of training tensors are 16 or 32 bits wide.
void report_narrow_formats(const Config& config, Issues& issues) {
  for (const Field& field : config_fields()) {
    const Member member = field.in(config);
    if (member.type() != FieldType::enumeration || member.words().first != words(DType{}).first) continue;
    const auto dtype = static_cast<DType>(member.choice());
    if (dtype == DType::automatic || bits(dtype) >= 16) continue;
    issues.push_back({"not_yet_modelled", field.path, std::string(name(dtype)) + " tensors are not yet modelled.",
                      "Choose auto, fp32, bf16 or fp16."});
  }
}

}  // namespace

void report_not_modelled(const Config& config, Issues& issues) {
  for (const Missing& missing : all_missing) {
    if (!missing.asked(config)) continue;
    issues.push_back(
        {"not_yet_modelled", missing.path, std::string(missing.what) + " not yet modelled.", missing.hint});
  }
  if (config.recipe.framework == Framework::megatron) {
    report_not_modelled_megatron(config, issues);
  } else {
    report_not_modelled_torch(config, issues);
    report_not_modelled_model(config, issues);
  }
  report_not_modelled_experts(config, issues);
  report_narrow_formats(config, issues);
}

}  // namespace trainmem
