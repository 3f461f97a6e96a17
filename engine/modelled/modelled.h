// What a configuration can ask for that this version does not model. Such a configuration gets an issue, never a
// number.
#pragma once

#include "engine/config.h"
#include "engine/issue.h"

namespace trainmem {

/// Appends one not_yet_modelled issue for everything that is asked for. Building a feature removes its line.
void report_not_modelled(const Config& config, Issues& issues);

/// The same for framework megatron, whose forward is its own (blocks/megatron).
void report_not_modelled_megatron(const Config& config, Issues& issues);
/// The part of it that concerns Megatron's layers, whoever runs them.
void report_not_modelled_megatron_layers(const Config& config, Issues& issues);

/// The same for Megatron-DeepSpeed: framework deepspeed beside tensor or pipeline parallelism.
void report_not_modelled_megatron_deepspeed(const Config& config, Issues& issues);

/// The same for tensor parallelism outside Megatron.
void report_not_modelled_tensor(const Config& config, Issues& issues);

/// The same for preference tuning, and for parts of a model that are frozen.
void report_not_modelled_objective(const Config& config, Issues& issues);

/// The same for mixture of experts, latent attention and multi-token prediction.
void report_not_modelled_experts(const Config& config, Issues& issues);

/// The same for torchtitan of today, and its words elsewhere.
void report_not_modelled_torchtitan(const Config& config, Issues& issues);
/// The same for litgpt.
void report_not_modelled_litgpt(const Config& config, Issues& issues);
/// The same for llm-foundry.
void report_not_modelled_llm_foundry(const Config& config, Issues& issues);

/// The same for layers of kinds that a model's class has none of, or that a framework lacks.
void report_not_modelled_layer_types(const Config& config, Issues& issues);

/// The same for torch.compile.
void report_not_modelled_compiled(const Config& config, Issues& issues);

/// The same for every framework but Megatron: the recipe, and, where transformers' or torchtitan's forward runs, the
/// model against its Hugging Face class.
void report_not_modelled_torch(const Config& config, Issues& issues);
void report_not_modelled_model(const Config& config, Issues& issues);

}  // namespace trainmem
