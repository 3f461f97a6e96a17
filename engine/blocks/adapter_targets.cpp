#include "engine/blocks/adapter_targets.h"

#include <string_view>

#include "engine/blocks/transformers/separate_experts.h"
#include "engine/config/deepspeed.h"
#include "engine/text/list.h"

namespace trainmem {

namespace {

/// transformers 5.16 conversion_mapping.py, _MODEL_TO_CONVERSION_PATTERN: types whose checkpoints are converted as
/// Mixtral's or as Qwen2MoE's, which has no line there itself. Of other types experts are left alone.
constexpr std::string_view converted =
    "mixtral,minimax,minimax_m2,afmoe,deepseek_v2,deepseek_v3,deepseek_v32,dots1,ernie4_5_moe,glm4_moe,"
    "glm4_moe_lite,glm_moe_dsa,glm4v_moe_text,solar_open,mellum,qwen3_moe,qwen3_omni_moe_text,qwen3_next,"
    "hunyuan_v1_moe,flex_olmo,olmoe,exaone_moe,cohere2_moe";

constexpr std::string_view projections = "gate,up,down";

bool has_transformers_layers(const Recipe& recipe) {
  switch (recipe.framework) {
    case Framework::transformers:
    case Framework::pytorch: return true;
    case Framework::deepspeed: return !uses_megatron_deepspeed(recipe);
    default: return false;
  }
}

/// Before release 5 experts are linear layers of their own.
bool has_separate_experts(const Config& c) {
  const bool older = c.recipe.loss == Loss::legacy || c.recipe.transformers_release != TransformersRelease::current;
  return older && transformers::SeparateExperts::describe(c.model);
}

}  // namespace

bool adapts_stacked_experts(const Config& c) {
  bool asked = false;
  for_each_item(c.recipe.lora.targets, [&](std::string_view item) { asked = asked || has_item(projections, item); });
  return asked && c.recipe.lora.rank > 0 && c.model.experts.num_experts > 0 && has_transformers_layers(c.recipe) &&
         c.recipe.transformers_release == TransformersRelease::current && !has_separate_experts(c) &&
         has_item(converted, c.model.model_type);
}

std::string adapter_targets(const Config& c) {
  if (!adapts_stacked_experts(c)) return c.recipe.lora.targets;
  std::string targets;
  for_each_item(c.recipe.lora.targets, [&](std::string_view item) {
    if (!targets.empty()) targets += ',';
    if (has_item(projections, item)) targets += "expert ";
    targets += item;
  });
  // Of the mapping's names "gate" is the router's, whose weight is adapted as a stack is. AFMoE's gate of attention's
  // output is called as an expert's is.
  if (!has_item(targets, "other")) return targets;
  if (c.model.model_type != "afmoe") return targets + ",router";
  return targets.replace(targets.find("other"), 5, "router");
}

}  // namespace trainmem
