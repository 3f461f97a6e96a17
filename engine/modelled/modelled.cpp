#include "engine/modelled/modelled.h"

#include <string>

#include "engine/blocks/architecture.h"
#include "engine/blocks/transformers/llama_form.h"
#include "engine/config/deepspeed.h"
#include "engine/config/fields.h"
#include "engine/config/formats.h"
#include "engine/config/shard_group.h"
#include "engine/config/values.h"
#include "engine/modelled/missing.h"
#include "engine/optimizer/facts.h"
#include "engine/parallel/pipeline.h"
#include "engine/presets/huggingface/config.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

/// Whether Megatron's layers run, and not those of transformers or torchtitan.
bool has_megatron_layers(const Config& c) {
  return c.recipe.framework == Framework::megatron || uses_megatron_deepspeed(c.recipe);
}

bool is_interleaved(const Recipe& r) {
  return r.pipeline_parallel > 1 && r.pipeline_schedule == PipelineSchedule::interleaved;
}

bool fuses_adapters(const Recipe& r) { return r.lora.rank > 0 && r.lora.fused; }

/// One line for each missing feature.
constexpr Missing<Config> all_missing[] = {
    {"/recipe/sequence_length", "Linear attention over so many blocks of 256 tokens is", "Give at most 32768.",
     [](const Config& c) {
       return c.model.model_type == "minimax" && !c.model.layer_types.empty() && c.recipe.sequence_length > 32768;
     },
     "32768"},
    {"/model/norm_weight", "An RMSNorm without a weight, of a type without a class of transformers, is",
     "Set it to true.",
     [](const Config& c) {
       return !c.model.norm_weight && c.model.norm == Norm::rmsnorm &&
              huggingface_defaults(c.model.model_type) == nullptr;
     },
     "1"},
    {"/recipe/fused_norm", "A fused norm of this model is", "Set it to false.",
     [](const Config& c) {
       return c.recipe.fused_norm && !has_megatron_layers(c) && c.recipe.framework != Framework::torchtitan &&
              transformers::fused_norm(c.model) == transformers::FusedNorm::none;
     },
     "0"},
    {"/recipe/fused_mlp", "A fused MLP of this model is", "Set it to false.",
     [](const Config& c) {
       return c.recipe.fused_mlp && !has_megatron_layers(c) && !transformers::has_fused_mlp(c.model);
     },
     "0"},
    {"/recipe/fused_rope", "A fused rotary embedding of this model is", "Set it to false.",
     [](const Config& c) {
       return c.recipe.fused_rope && !has_megatron_layers(c) && !transformers::has_fused_rope(c.model);
     },
     "0"},
    {"/recipe/attention", "Flash attention of heads wider than 256 is", "Choose sdpa.",
     [](const Config& c) {
       const Model& m = c.model;
       return c.recipe.attention == AttentionKernel::flash && !has_megatron_layers(c) && m.global_head_dim > 256;
     },
     "sdpa"},
    {"/recipe/fsdp_wrap_embeddings", "A group of the embeddings alone, with embeddings of each layer, is",
     "Set it to false, or tie_word_embeddings to true.",
     [](const Config& c) {
       return c.recipe.fsdp_wrap_embeddings && c.model.hidden_size_per_layer_input > 0 &&
              !c.model.tie_word_embeddings && c.recipe.data_parallel == DataParallel::fsdp &&
              c.recipe.data_parallel_size * c.recipe.context_parallel > 1;
     },
     "0"},
    {"/recipe/lora/rank", "LoRA under this framework is", "Choose framework transformers.",
     [](const Config& c) {
       return c.recipe.lora.rank > 0 && (has_megatron_layers(c) || c.recipe.framework == Framework::torchtitan);
     },
     to_transformers},
    {"/recipe/lora/fused", "Fused adapters of this model or framework are", "Set it to false.",
     [](const Config& c) {
       return fuses_adapters(c.recipe) &&
              (c.recipe.framework != Framework::transformers || !transformers::has_fused_lora(c.model));
     },
     "0"},
    {"/recipe/lora/fused", "Fused adapters of a whole MLP are",
     "Leave gate, up or down out of lora.targets, or set it to false.",
     [](const Config& c) {
       const std::string& targets = c.recipe.lora.targets;
       return fuses_adapters(c.recipe) && c.model.experts.num_experts == 0 && has_item(targets, "gate") &&
              has_item(targets, "up") && has_item(targets, "down");
     },
     "0"},
    {"/recipe/fsdp_wrap_embeddings", "A loss that takes the head's weight, or chunks, with a head of its own group is",
     "Set it to false: embedding and head belong to the root then.",
     [](const Config& c) {
       const bool chunks = c.recipe.loss == Loss::chunked && c.recipe.framework != Framework::torchtitan;
       return (c.recipe.loss == Loss::fused_linear || chunks) && c.recipe.fsdp_wrap_embeddings &&
              !c.model.tie_word_embeddings && c.recipe.data_parallel == DataParallel::fsdp &&
              c.recipe.data_parallel_size * c.recipe.context_parallel > 1;
     },
     "0"},
    {"/recipe/quantization",
     "4-bit weights beside fp32 weights in one flat parameter of FSDP1 are",
     "Choose precision bf16 or fsdp_bf16, or fsdp_version 2.",
     [](const Config& c) {
       return c.recipe.quantization != Quantization::none && uses_fsdp1(c.recipe) && c.recipe.data_parallel_size > 1 &&
              !is_half(formats(c.recipe).weights);
     },
     {"/recipe/fsdp_version", "2"}},
    {"/recipe/quantization", "Quantised weights of Llama 4, whose router cannot be, are", "Set it to none.",
     [](const Config& c) {
       return c.recipe.quantization != Quantization::none && c.model.model_type == "llama4_text" &&
              c.model.experts.num_experts > 0;
     },
     "none"},
    {"/recipe/quantization", "Quantised weights of Gemma 3n, which clips some of them, are", "Set it to none.",
     [](const Config& c) { return c.recipe.quantization != Quantization::none && c.model.altup_num_inputs > 0; },
     "none"},
    {"/recipe/quantization", "Training on 8-bit weights is", "Choose nf4 or nf4_double.",
     [](const Config& c) { return c.recipe.quantization == Quantization::int8; }, "nf4"},
    {"/recipe/context_parallel", "Context parallelism outside Megatron and torchtitan is",
     "Set it to 1, or choose framework megatron or torchtitan.",
     [](const Config& c) {
       return c.recipe.context_parallel > 1 && c.recipe.framework != Framework::megatron &&
              c.recipe.framework != Framework::torchtitan;
     },
     "1"},
    {"/recipe/context_parallel", "Context parallelism with latent attention outside Megatron is", "Set it to 1.",
     [](const Config& c) {
       return c.recipe.context_parallel > 1 && c.model.latent_attention.kv_lora_rank > 0 &&
              c.recipe.framework != Framework::megatron;
     },
     "1"},
    {"/recipe/context_parallel", "Context parallelism of torchtitan without FSDP2 is", "Choose fsdp, version 2.",
     [](const Config& c) {
       return c.recipe.context_parallel > 1 && c.recipe.framework == Framework::torchtitan && !uses_fsdp2(c.recipe);
     },
     "1"},
    {"/recipe/context_parallel", "Context parallelism of torchtitan in fp32, or with another kernel than flash's, is",
     "Choose precision fsdp_bf16 or bf16 and attention sdpa.",
     [](const Config& c) {
       return c.recipe.context_parallel > 1 && c.recipe.framework == Framework::torchtitan &&
              (!is_half(formats(c.recipe).computation) || c.recipe.attention != AttentionKernel::sdpa ||
               c.model.head_dim > 256);
     }},
    {"/recipe/context_parallel_method", "An all-to-all of heads under torchtitan is",
     "Choose auto, ring or all_gather.",
     [](const Config& c) {
       return c.recipe.context_parallel > 1 && c.recipe.framework == Framework::torchtitan &&
              c.recipe.context_parallel_method == ContextParallelMethod::all_to_all;
     },
     "auto"},
    {"/recipe/precision",
     "fp8 outside Megatron, and compiled and recomputed blocks of torchtitan's dense Llama under FSDP2, is",
     "Choose a bf16 or fp16 precision, or framework torchtitan, compile_blocks and recomputation.",
     [](const Config& c) {
       const bool recomputed = c.recipe.recomputation == Recomputation::full ||
                               c.recipe.recomputation == Recomputation::selective_operations;
       const bool sharded = uses_fsdp2(c.recipe) && c.recipe.data_parallel_size * c.recipe.context_parallel > 1;
       return c.recipe.precision == Precision::fp8 && c.recipe.framework != Framework::megatron &&
              (c.recipe.framework != Framework::torchtitan || !c.recipe.compile_blocks || !recomputed || !sharded);
     },
     "fsdp_bf16"},
    {"/recipe/fp8_recipe", "fp8 whose numbers share their scale in blocks, outside Megatron's fp8, is",
     "Choose tensorwise, or framework megatron and precision fp8.",
     [](const Config& c) {
       return c.recipe.fp8_recipe != Fp8Recipe::tensorwise &&
              (c.recipe.framework != Framework::megatron || c.recipe.precision != Precision::fp8);
     },
     "tensorwise"},
    {"/recipe/offload_optimizer", "Offload of the optimizer alone outside Megatron and DeepSpeed's ZeRO is",
     "Set data_parallel to zero1, zero2 or zero3, or offload_parameters with fsdp.",
     [](const Config& c) {
       return c.recipe.offload_optimizer && c.recipe.framework != Framework::megatron &&
              (!uses_zero(c.recipe) || c.recipe.data_parallel == DataParallel::ddp) &&
              !(c.recipe.data_parallel == DataParallel::fsdp && c.recipe.offload_parameters);
     },
     "0"},
    {"/recipe/offload_parameters", "Offload of parameters outside FSDP and ZeRO-3 over several GPUs is",
     "Set data_parallel to fsdp or zero3, and data_parallel_size to 2 or more.",
     [](const Config& c) {
       const bool fsdp = c.recipe.data_parallel == DataParallel::fsdp;
       return c.recipe.offload_parameters &&
              ((!fsdp && !(uses_zero(c.recipe) && c.recipe.data_parallel == DataParallel::zero3)) ||
               c.recipe.framework == Framework::megatron ||
               c.recipe.data_parallel_size * c.recipe.context_parallel == 1);
     },
     "0"},
    {"/recipe/offload_parameters",
     "A step inside backward on parameters in host memory is",
     "Choose foreach or fused.",
     [](const Config& c) {
       return c.recipe.offload_parameters && c.recipe.optimizer_implementation == OptimizerImplementation::in_backward;
     },
     {"/recipe/optimizer_implementation", "fused"}},
    {"/recipe/offload_checkpoints",
     "Offload of checkpoints without full recomputation, or re-entrant, or in Megatron is",
     "Set recomputation to full and recomputation_reentrant to false, or this to false.",
     [](const Config& c) {
       return c.recipe.offload_checkpoints &&
              (c.recipe.framework == Framework::megatron || c.recipe.recomputation_reentrant ||
               (c.recipe.recomputation != Recomputation::full && c.recipe.recomputation != Recomputation::every_k));
     },
     "0"},
    {"/recipe/virtual_pipeline_stages",
     "An interleaved schedule of virtual stages with different numbers of layers is",
     "Set pipeline_schedule to 1f1b, or choose numbers of which num_hidden_layers, or two more, is a multiple.",
     [](const Config& c) {
       const std::int64_t chunks = c.recipe.pipeline_parallel * c.recipe.virtual_pipeline_stages;
       return is_interleaved(c.recipe) && c.recipe.pipeline_first_stage_layers == 0 &&
              c.recipe.pipeline_last_stage_layers == 0 && c.model.num_hidden_layers % chunks != 0 &&
              !ends_count_as_layers(c.recipe, c.model.num_hidden_layers);
     },
     {"/recipe/pipeline_schedule", "1f1b"}},
    {"/recipe/gradient_accumulation_steps",
     "An interleaved schedule of fewer micro-batches than stages, or of more that do not divide into equal rounds, is",
     "Give a multiple of pipeline_parallel.",
     [](const Config& c) {
       const std::int64_t micro_batches = c.recipe.gradient_accumulation_steps;
       return is_interleaved(c.recipe) &&
              (micro_batches < c.recipe.pipeline_parallel ||
               (c.recipe.framework == Framework::torchtitan && micro_batches % micro_batch_group(c.recipe) != 0));
     }},
    {"/recipe/pipeline_parallel", "Pipeline parallelism outside Megatron, DeepSpeed and torchtitan is",
     "Choose framework megatron, deepspeed or torchtitan, or set it to 1.",
     [](const Config& c) {
       return c.recipe.pipeline_parallel > 1 && !has_megatron_layers(c) && c.recipe.framework != Framework::torchtitan;
     },
     "1"},
    {"/recipe/data_parallel", "A pipeline of torchtitan beside data parallelism other than FSDP2 is",
     "Choose fsdp, version 2.",
     [](const Config& c) {
       return c.recipe.pipeline_parallel > 1 && c.recipe.framework == Framework::torchtitan &&
              c.recipe.data_parallel_size > 1 && !uses_fsdp2(c.recipe);
     },
     "fsdp"},
    {"/recipe/optimizer_implementation", "A step inside backward with a pipeline is", "Choose foreach or fused.",
     [](const Config& c) {
       return c.recipe.pipeline_parallel > 1 && c.recipe.framework == Framework::torchtitan &&
              c.recipe.optimizer_implementation == OptimizerImplementation::in_backward;
     },
     "fused"},
    {"/recipe/recomputation", "Recomputation in a zero-bubble schedule of torchtitan is", "Set it to none.",
     [](const Config& c) {
       return c.recipe.pipeline_parallel > 1 && c.recipe.framework == Framework::torchtitan &&
              c.recipe.pipeline_schedule == PipelineSchedule::zero_bubble &&
              c.recipe.recomputation != Recomputation::none;
     },
     "none"},
    {"/recipe/recomputation", "Recomputation of every k-th layer under Megatron is",
     "Choose none, selective_attention or full.",
     [](const Config& c) {
       return c.recipe.recomputation == Recomputation::every_k && c.recipe.framework == Framework::megatron;
     },
     "full"},
    {"/recipe/recomputation_reentrant", "Re-entrant recomputation under ZeRO-3, and under torchtitan's FSDP2, is",
     "Set it to false.",
     [](const Config& c) {
       const Recipe& r = c.recipe;
       const bool sharded =
           (uses_fsdp2(r) && r.framework == Framework::torchtitan) || r.data_parallel == DataParallel::zero3;
       return r.recomputation != Recomputation::none && r.recomputation_reentrant && sharded &&
              r.data_parallel_size * r.context_parallel > 1 && r.framework != Framework::megatron;
     },
     "0"},
    {"/recipe/recomputation_reentrant", "Re-entrant recomputation of some layers under FSDP1 is",
     "Set recomputation to full, or this to false.",
     [](const Config& c) {
       return c.recipe.recomputation_reentrant && c.recipe.recomputation != Recomputation::none &&
              c.recipe.recomputation != Recomputation::full && uses_fsdp1(c.recipe) &&
              c.recipe.framework != Framework::megatron;
     },
     "0"},
    {"/model/hidden_act", "xIELU elsewhere than in the MLP of a dense Apertus, which has no gate, is",
     "Choose another activation, or model_type apertus.",
     [](const Config& c) {
       const Model& m = c.model;
       return m.hidden_act == Activation::xielu &&
              (m.model_type != "apertus" || m.gated_mlp || m.experts.num_experts > 0 || has_megatron_layers(c));
     },
     "silu"},
    {"/recipe/recomputation", "Recomputation by Megatron's modules under another framework is",
     "Choose framework megatron, or none, selective_operations or full.",
     [](const Config& c) {
       return c.recipe.recomputation == Recomputation::selective_modules && c.recipe.framework != Framework::megatron;
     },
     "full"},
    {"/recipe/recomputation", "Recomputation chosen by operations under Megatron is",
     "Choose none, selective_attention or full.",
     [](const Config& c) {
       return c.recipe.recomputation == Recomputation::selective_operations &&
              c.recipe.framework == Framework::megatron;
     },
     "selective_attention"},
};

/// Number formats of training tensors are 16 or 32 bits wide.
void report_narrow_formats(const Config& config, Issues& issues) {
  for (const Field& field : config_fields()) {
    const Member member = field.in(config);
    if (member.type() != FieldType::enumeration || member.words().first != words(DType{}).first) continue;
    const auto dtype = static_cast<DType>(member.choice());
    if (dtype == DType::automatic || bits(dtype) >= 16) continue;
    const Recipe& recipe = config.recipe;
    const bool gathered_in_float8 = recipe.framework == Framework::megatron && recipe.precision == Precision::fp8 &&
                                    dtype == DType::float8 && std::string(field.path) == "/recipe/weights_dtype";
    if (gathered_in_float8) continue;
    issues.push_back({"not_yet_modelled", field.path, std::string(name(dtype)) + " tensors are not yet modelled.",
                      "Choose auto, fp32, bf16 or fp16."});
  }
}

/// A forward that the framework lacks, with a framework that has it.
void report_no_forward(const Config& config, Issues& issues) {
  if (has_megatron_layers(config) || make_architecture(config.model, config.recipe) != nullptr) return;
  Issue issue{"not_yet_modelled", "/model/model_type",
              "This model type, under " + std::string(word(config.recipe.framework)) + ", is not yet modelled.",
              "Choose a model of another family."};
  Config other;
  other.model = config.model;
  for (const Framework framework : {Framework::transformers, Framework::megatron}) {
    other.recipe = default_recipe(framework);
    Issues of_other;
    if (framework == Framework::megatron) report_not_modelled_megatron(other, of_other);
    const bool known =
        framework == Framework::megatron ? of_other.empty() : make_architecture(other.model, other.recipe) != nullptr;
    if (!known) continue;
    issue.hint = "Choose framework " + std::string(word(framework)) + ", under which it is.";
    issue.fix = {"/recipe/framework", word(framework)};
    break;
  }
  issues.push_back(issue);
}

}  // namespace

void report_not_modelled(const Config& config, Issues& issues) {
  report_no_forward(config, issues);
  report<Config>(all_missing, config, issues);
  report_not_modelled_torchtitan(config, issues);
  if (config.recipe.framework == Framework::megatron) {
    report_not_modelled_megatron(config, issues);
  } else {
    report_not_modelled_torch(config, issues);
    if (config.recipe.framework == Framework::litgpt) report_not_modelled_litgpt(config, issues);
    if (uses_megatron_deepspeed(config.recipe)) {
      report_not_modelled_megatron_deepspeed(config, issues);
    } else if (config.recipe.framework == Framework::llm_foundry) {
      report_not_modelled_llm_foundry(config, issues);
    } else {
      report_not_modelled_tensor(config, issues);
      report_not_modelled_model(config, issues);
    }
  }
  report_not_modelled_objective(config, issues);
  report_not_modelled_experts(config, issues);
  report_not_modelled_layer_types(config, issues);
  report_not_modelled_compiled(config, issues);
  report_narrow_formats(config, issues);
}

}  // namespace trainmem
