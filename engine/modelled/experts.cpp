// What is not modelled of mixture of experts, latent attention and multi-token prediction.
#include "engine/blocks/adapter_targets.h"
#include "engine/blocks/transformers/balancing_loss.h"
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/separate_experts.h"
#include "engine/config/deepspeed.h"
#include "engine/config/shard_group.h"
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"
#include "engine/parameters/indexer.h"
#include "engine/parameters/layout.h"
#include "engine/presets/huggingface/config.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

bool megatron(const Config& c) { return c.recipe.framework == Framework::megatron; }
bool torchtitan(const Config& c) { return c.recipe.framework == Framework::torchtitan; }
std::int64_t shards(const Recipe& r) { return fsdp_shards(r).value(); }
bool experts(const Config& c) { return c.model.experts.num_experts > 0; }
bool latent(const Config& c) { return c.model.latent_attention.kv_lora_rank > 0; }

/// Whether the model has a part that its Hugging Face class has not, or lacks one that it has.
bool against_class(const Config& c, bool (*part)(const Config&)) {
  const Model* defaults = huggingface_defaults(c.model.model_type);
  if (defaults == nullptr || megatron(c)) return false;
  // With experts and without.
  const std::string& type = c.model.model_type;
  if (part == experts && has_item("granitemoehybrid,nemotron_h,gemma4_text,jamba", type)) return false;
  Config of_class;
  of_class.model = *defaults;
  return part(c) != part(of_class);
}

/// Whether transformers' forward runs, and the model's type is one whose experts it does not know.
bool unknown_experts(const Config& c) {
  const transformers::LlamaForm* form = transformers::llama_form(c.model);
  return experts(c) && !megatron(c) && !torchtitan(c) && !against_class(c, experts) && form != nullptr &&
         !transformers::has_experts_forward(c.model, *form);
}

/// Of the older classes, in which experts are linear layers of their own, Mixtral's and OLMoE's are modelled.
bool quantised_experts(const Config& c) {
  return experts(c) && c.recipe.quantization != Quantization::none && !transformers::SeparateExperts::describe(c.model);
}

/// DBRX before transformers 5 cut its experts apart all at once.
bool dbrx(const Config& c) { return !megatron(c) && c.model.model_type == "dbrx"; }

/// Steps of one GPU, of DDP and of FSDP2 were recorded.
bool shards_adapted_experts(const Config& c) {
  const Recipe& r = c.recipe;
  const bool recorded = r.data_parallel == DataParallel::ddp || uses_fsdp2(r);
  return adapts_stacked_experts(c) && !(recorded && r.context_parallel == 1 && r.pipeline_parallel == 1);
}

/// peft raises ValueError: tuners/lora/layer.py, ParamWrapper.
bool drops_of_stacked_experts(const Config& c) { return adapts_stacked_experts(c) && c.recipe.lora.dropout > 0; }

/// peft raises ValueError: utils/transformers_weight_conversion.py, _convert_peft_config_moe.
bool adapts_half_a_stack(const Config& c) {
  const std::string& targets = c.recipe.lora.targets;
  return adapts_stacked_experts(c) && has_item(targets, "gate") != has_item(targets, "up");
}

/// Frameworks with layers of their own, which know nothing of such parts.
bool has_own_layers(const Config& c) {
  const Framework framework = c.recipe.framework;
  const bool of_transformers = framework == Framework::transformers || framework == Framework::pytorch;
  return !of_transformers && (framework != Framework::deepspeed || uses_megatron_deepspeed(c.recipe));
}

bool has_indexer(const Config& c) { return indexer_of(c.model.model_type).heads > 0; }

bool balances(const Config& c) { return c.model.experts.router_auxiliary_loss != RouterAuxiliaryLoss::none; }

constexpr const char* own_class = "Choose a model_type whose class has it, or leave it as the class has it.";

constexpr Missing<Config> all_missing[] = {
    {"/model/hidden_act", "This activation of experts, under Megatron, is", "Choose framework transformers.",
     [](const Config& c) { return megatron(c) && c.model.hidden_act == Activation::clamped_swiglu; }, to_transformers},
    {"/model/experts/expert_bias", "Biases of experts, under Megatron, are", "Set it to false.",
     [](const Config& c) { return megatron(c) && c.model.experts.expert_bias; }, to_transformers},
    {"/recipe/expert_parallel", "Expert parallelism outside Megatron and torchtitan is",
     "Set it to 1, or choose framework megatron or torchtitan.",
     [](const Config& c) { return !megatron(c) && !torchtitan(c) && c.recipe.expert_parallel > 1; }, "1"},
    {"/recipe/expert_parallel", "Expert parallelism of torchtitan over other GPUs than those of an FSDP2 group is",
     "Choose fsdp, version 2, and a divisor of data_parallel_size, or of hybrid_shard_size, times context_parallel.",
     [](const Config& c) {
       const Recipe& r = c.recipe;
       return torchtitan(c) && r.expert_parallel > 1 && (!uses_fsdp2(r) || shards(r) % r.expert_parallel != 0);
     },
     "1"},
    {"/recipe/data_parallel_size", "Shards of experts that do not divide their width evenly are",
     "Choose a power of two, or fewer GPUs than there are experts.",
     [](const Config& c) {
       if (shards(c.recipe) < c.recipe.expert_parallel || c.recipe.expert_parallel < 1) return false;
       const std::int64_t of_one = shards(c.recipe) / c.recipe.expert_parallel;
       return torchtitan(c) && experts(c) && c.recipe.data_parallel == DataParallel::fsdp &&
              shards(c.recipe) > c.model.experts.num_experts &&
              (c.model.hidden_size % of_one != 0 || c.model.experts.moe_intermediate_size % of_one != 0);
     }},
    {"/recipe/expert_tensor_parallel", "Expert tensor parallelism outside Megatron is",
     "Set it to 1, or choose framework megatron.",
     [](const Config& c) { return !megatron(c) && c.recipe.expert_tensor_parallel > 1; }, "1"},
    {"/model/num_nextn_predict_layers", "Multi-token prediction, under torchtitan, is",
     "Set it to 0: torchtitan's configurations leave it out, too.",
     [](const Config& c) { return torchtitan(c) && c.model.num_nextn_predict_layers > 0; }, "0"},
    {"/model/model_type", "Sparse attention with an indexer, in this framework, is", "Choose framework transformers.",
     [](const Config& c) { return has_own_layers(c) && has_indexer(c); }, to_transformers},
    {"/recipe/attention", "Flash attention beside an indexer is", "Choose sdpa: the class has no other fast kernel.",
     [](const Config& c) { return has_indexer(c) && c.recipe.attention == AttentionKernel::flash; }, "sdpa"},
    {"/model/model_type", "A gate of attention's output, in this framework, is", "Choose framework transformers.",
     [](const Config& c) { return has_own_layers(c) && parameter_layout(c.model.model_type).output_gate; },
     to_transformers},
    {"/model/model_type", "Norms before the last layers of attention and MLP, in this framework, are",
     "Choose framework transformers.",
     [](const Config& c) { return has_own_layers(c) && parameter_layout(c.model.model_type).sub_norms; },
     to_transformers},
    {"/model/qk_norm", "A norm for each head with weights of its own, in this framework, is",
     "Choose framework transformers.",
     [](const Config& c) {
       return has_own_layers(c) && c.model.model_type == "stablelm" && c.model.qk_norm != QkNorm::none;
     },
     to_transformers},
    {"/model/clip_qkv", "Clipped queries, keys and values, in this framework, are", "Choose framework transformers.",
     [](const Config& c) { return has_own_layers(c) && c.model.clip_qkv > 0; }, to_transformers},
    {"/recipe/quantization", "Quantised weights of layers that round theirs to three values are", "Set it to none.",
     [](const Config& c) { return c.model.bit_linear && c.recipe.quantization != Quantization::none; }, "none"},
    {"/model/experts/num_experts", "Experts in, or their absence from, a model of this type are", own_class,
     [](const Config& c) { return against_class(c, experts); }},
    {"/model/model_type", "The router of this model type is", "Choose a model of another family.", unknown_experts},
    {"/model/latent_attention/kv_lora_rank", "Latent attention in, or its absence from, a model of this type is",
     own_class, [](const Config& c) { return against_class(c, latent); }},
    {"/recipe/recomputation", "Recomputation chosen by operations, with experts, outside torchtitan is",
     "Choose none or full.",
     [](const Config& c) {
       return experts(c) && c.recipe.recomputation == Recomputation::selective_operations && !megatron(c) &&
              !torchtitan(c);
     },
     "full"},
    {"/recipe/lora/targets",
     "Adapters on stacked weights of experts, which gate, up and down mean here, divided otherwise than by FSDP2 are",
     "Choose fsdp_version 2, or leave gate, up and down out.", shards_adapted_experts, "q,k,v,o"},
    {"/recipe/lora/targets",
     "Adapters on gate without up, which lie in one stack of experts, or on up without gate are",
     "Name both or neither.", adapts_half_a_stack},
    {"/recipe/lora/dropout", "Dropout of adapters on stacked weights of experts, which peft has not, is",
     "Set it to 0, or leave gate, up and down out of lora.targets.", drops_of_stacked_experts, "0"},
    {"/recipe/transformers_release", "DBRX of older releases, which cut its experts apart otherwise, is",
     "Set it to current.",
     [](const Config& c) { return dbrx(c) && c.recipe.transformers_release != TransformersRelease::current; },
     "current"},
    {"/recipe/loss", "DBRX of older releases, whose loss this is, is", "Set it to full.",
     [](const Config& c) { return dbrx(c) && c.recipe.loss == Loss::legacy; }, "full"},
    {"/model/experts/router_auxiliary_loss", "The loss that balances the experts, in this framework, is",
     "Set it to none.",
     [](const Config& c) {
       const bool of_megatron = megatron(c) && c.model.experts.router_auxiliary_loss == RouterAuxiliaryLoss::unmasked;
       return balances(c) && has_own_layers(c) && !of_megatron;
     },
     "none"},
    {"/model/experts/router_auxiliary_loss", "The loss that balances the experts, of a model without experts, is",
     "Set it to none.", [](const Config& c) { return balances(c) && megatron(c) && !experts(c); }, "none"},
    {"/model/experts/router_auxiliary_loss",
     "The loss that balances the experts, of a class that makes none of its routers' logits, is", "Set it to none.",
     [](const Config& c) { return balances(c) && !has_own_layers(c) && !transformers::has_balancing_loss(c.model); },
     "none"},
    {"/model/experts/router_auxiliary_loss", "The loss that balances the experts, of older releases, is",
     "Set it to none, or choose the current release and loss.",
     [](const Config& c) {
       const bool older =
           c.recipe.transformers_release != TransformersRelease::current || c.recipe.loss == Loss::legacy;
       return balances(c) && !has_own_layers(c) && older;
     },
     "none"},
    {"/model/experts/router_auxiliary_loss", "The loss that balances the experts, under tensor parallelism, is",
     "Set it to none.",
     [](const Config& c) { return balances(c) && !has_own_layers(c) && c.recipe.tensor_parallel > 1; }, "none"},
    {"/recipe/quantization", "Quantised weights of DBRX, whose router is a linear layer, are", "Set it to none.",
     [](const Config& c) { return dbrx(c) && c.recipe.quantization != Quantization::none; }, "none"},
    {"/recipe/transformers_release", "Quantised experts of older releases, each a layer of its own, are",
     "Set it to current, where stacked experts stay in 16 bits.",
     [](const Config& c) {
       return quantised_experts(c) && c.recipe.transformers_release != TransformersRelease::current;
     },
     "current"},
    {"/recipe/loss", "Quantised experts of older releases, whose loss this is, are",
     "Set it to full: in current releases stacked experts stay in 16 bits.",
     [](const Config& c) { return quantised_experts(c) && c.recipe.loss == Loss::legacy; }, "full"},
};

}  // namespace

void report_not_modelled_experts(const Config& config, Issues& issues) { report<Config>(all_missing, config, issues); }

}  // namespace trainmem
