// Source of every line: transformers src/transformers/models/<model_type>/modeling_<model_type>.py.
// megatron-gpt: Megatron-LM megatron/core/models/gpt/gpt_layer_specs.py. Classes that are not named are laid out as
// Llama: embed_tokens; q_proj, k_proj, v_proj, o_proj; gate_proj, up_proj, down_proj; two norms; norm; lm_head.
#include "engine/parameters/layout.h"

namespace trainmem {

ParameterLayout parameter_layout(std::string_view type) {
  using Norms = NormRegistration;
  if (type == "gpt2") return {.norms = Norms::before_each, .fused_query_key_value = true, .transposed_linear = true};
  if (type == "openai-gpt")
    return {.norms = Norms::after_each, .fused_query_key_value = true, .transposed_linear = true};
  if (type == "megatron-gpt")
    return {.norms = Norms::before_each, .fused_query_key_value = true, .fused_gate_up = true};
  if (type == "gpt_bigcode" || type == "codegen") return {.norms = Norms::before_each, .fused_query_key_value = true};
  if (type == "gptj" || type == "gpt_neo") return {.norms = Norms::before_each, .query_last = true};
  if (type == "bloom" || type == "mpt") return {.norms = Norms::before_each, .fused_query_key_value = true};
  if (type == "dbrx") return {.norms = Norms::before_each, .fused_query_key_value = true, .flat_experts = true};
  if (type == "gpt_neox") return {.norms = Norms::first, .fused_query_key_value = true};
  if (type == "biogpt" || type == "xglm") return {.norms = Norms::after_each, .query_last = true};
  if (type == "persimmon") return {.fused_query_key_value = true};
  if (type == "opt") return {.norms = Norms::after_each, .query_last = true, .final_norm_before_layers = true};
  if (type == "falcon") return {.fused_query_key_value = true};
  if (type == "phi3") return {.fused_query_key_value = true, .fused_gate_up = true, .output_first = true};
  if (type == "glm" || type == "glm4" || type == "glm4v_text" || type == "glm_ocr_text") return {.fused_gate_up = true};
  if (type == "axk1") return {.router_after_experts = true, .norm_of_experts = true};
  if (type == "granitemoe" || type == "granitemoeshared" || type == "granitemoe_swa") return {.fused_gate_up = true};
  if (type == "granitemoehybrid") return {.norms = Norms::first, .fused_gate_up = true};
  if (type == "bamba" || type == "jetmoe") return {.norms = Norms::mixer_last};
  if (type == "nemotron_h") return {.norms = Norms::one, .router_after_experts = true};
  if (type == "mamba2" || type == "mamba" || type == "falcon_mamba") return {.norms = Norms::one};
  if (type == "lfm2_moe") return {.router_after_experts = true};
  if (type == "olmo2" || type == "olmo3" || type == "flex_olmo" || type == "exaone4") return {.norms_on_outputs = true};
  if (type == "qwen3_next" || type == "qwen3_5_text" || type == "qwen3_5_moe_text") return {.gated_attention = true};
  if (type == "step3p5") return {.output_gate = true, .gates_heads = true};
  if (type == "muse_glimmer_text") return {.output_gate = true};
  if (type == "afmoe") return {.norms = Norms::between, .output_gate = true, .shared_before_experts = true};
  if (type == "laguna") return {.router_after_experts = true, .output_gate = true, .gates_heads = true};
  if (type == "bitnet") return {.sub_norms = true};
  if (type == "modernbert-decoder") return {.norms = Norms::before_each, .fused_gate_up = true};
  if (type == "rwkv") return {.norms = Norms::first};
  if (type == "recurrent_gemma") return {.norms = Norms::before_each};
  if (type == "gpt_oss") return {.turned_experts = true};
  if (type == "llama4_text") return {.router_after_experts = true, .turned_experts = true};
  for (const std::string_view one :
       {"deepseek", "deepseek_v2", "deepseek_v3", "glm4_moe", "glm4_moe_lite", "dots1", "solar_open", "exaone_moe",
        "deepseek_v32", "deepseek_ocr2_text", "glm_moe_dsa", "glm4v_moe_text", "mistral4", "mimo_v2_flash"}) {
    if (type == one) return {.router_after_experts = true};
  }
  return {};
}

}  // namespace trainmem
