// What the forwards of blocks/transformers do not do: each follows its Hugging Face class, so a model that differs
// from its class where the class has no choice has no forward.
#include <string>
#include <string_view>

#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/llama_form.h"
#include "engine/config/text.h"
#include "engine/modelled/modelled.h"
#include "engine/presets/huggingface/config.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

struct Fixed {
  const char* path;
  const char* free_in;      ///< model types, comma-separated, in which the class has a choice
  bool free_in_llama_form;  ///< the forward that Llama's relatives share has a choice
};

constexpr Fixed fixed_fields[] = {
    {"/model/gated_mlp", "", true},
    {"/model/norm", "", false},
    {"/model/norm_weight", "opt", false},
    {"/model/norm_bias", "modernbert-decoder,opt", false},
    {"/model/norm_placement", "opt", false},
    {"/model/norms_per_layer", "falcon,stablelm", false},
    {"/model/embedding_norm", "", false},
    {"/model/final_norm", "opt", false},
    {"/model/qk_norm", "persimmon,cohere,glm4_moe,llama4_text,stablelm", false},
    {"/model/positions", "falcon,granitemoehybrid,olmo_hybrid,zamba2", false},
    {"/model/parallel_attention_mlp", "falcon,gpt_neox,stablelm", false},
    {"/model/word_embed_proj_dim", "opt", false},
    {"/model/attention_sinks", "", false},
    {"/model/experts/n_shared_experts",
     "deepseek,deepseek_v2,deepseek_ocr2_text,deepseek_v3,glm4_moe,glm4_moe_lite,dots1,solar_open,exaone_moe,"
     "ernie4_5_moe,"
     "granitemoeshared,granitemoe_swa,granitemoehybrid,nemotron_h,qwen3_next,qwen3_5_moe_text,afmoe,hy_v3,"
     "deepseek_v32,glm_moe_dsa,axk1,cohere2_moe,glm4v_moe_text,mistral4",
     false},
    {"/model/experts/shared_expert_gate", "", false},
    {"/model/experts/first_k_dense_replace",
     "deepseek,deepseek_v2,deepseek_ocr2_text,deepseek_v3,glm4_moe,glm4_moe_lite,dots1,exaone_moe,"
     "ernie4_5_moe,lfm2_moe,qwen2_moe,qwen3_moe,qwen3_vl_moe_text,qwen3_omni_moe_text,"
     "afmoe,hy_v3,mellum,deepseek_v32,glm_moe_dsa,axk1,cohere2_moe,glm4v_moe_text,mistral4,laguna,mimo_v2_flash,"
     "step3p5",
     false},
    {"/model/experts/moe_layer_freq",
     "llama4_text,qwen2_moe,qwen3_moe,qwen3_next,qwen3_vl_moe_text,qwen3_omni_moe_text,ernie4_5_moe,jamba", false},
    {"/model/experts/router_bias", "nemotron_h", false},
    {"/model/experts/moe_latent_size", "nemotron_h", false},
    {"/model/experts/input_jitter", "phimoe", false},
    {"/model/clip_qkv", "olmo,olmoe,mpt", false},
    {"/model/num_mem_blocks", "zamba2", false},
    {"/model/adapter_rank", "zamba2", false},
    {"/model/use_shared_attention_adapter", "zamba2", false},
    {"/model/bit_linear", "bitnet", false},
    {"/model/mamba/gated_norm", "falcon_h1", false},
    {"/model/linear_attention/linear_num_key_heads", "qwen3_next,qwen3_5_text,qwen3_5_moe_text,olmo_hybrid", false},
    {"/model/experts/expert_bias", "", false},
    {"/model/latent_attention/v_head_dim",
     "deepseek_v2,deepseek_v3,glm4_moe_lite,youtu,minicpm3,deepseek_v32,glm_moe_dsa,mistral4,axk1,mimo_v2_flash",
     false},
    {"/model/num_sliding_attention_heads", "laguna,step3p5", false},
    {"/model/global_head_dim", "gemma4_text", false},
    {"/model/num_global_key_value_heads", "gemma4_text,mimo_v2_flash", false},
    {"/model/attention_k_eq_v", "gemma4_text", false},
    {"/model/num_kv_shared_layers", "gemma4_text,gemma3n_text", false},
    {"/model/use_double_wide_mlp", "gemma4_text", false},
    {"/model/hidden_size_per_layer_input", "gemma4_text,gemma3n_text", false},
    {"/model/vocab_size_per_layer_input", "gemma4_text,gemma3n_text", false},
    {"/model/altup_num_inputs", "gemma3n_text", false},
    {"/model/laurel_rank", "gemma3n_text", false},
    {"/model/activation_sparsity_layers", "gemma3n_text", false},
};

struct Needed {
  const char* path;
  const char* types;  ///< model types whose classes do not run without it
};

constexpr Needed needed_fields[] = {
    {"/model/altup_num_inputs", "gemma3n_text"},
    {"/model/laurel_rank", "gemma3n_text"},
    {"/model/hidden_size_per_layer_input", "gemma3n_text"},
    {"/model/num_mem_blocks", "zamba2"},
    {"/model/adapter_rank", "zamba2"},
    {"/model/latent_attention/q_lora_rank", "deepseek_v32,glm_moe_dsa"},  // the indexer takes the compressed query
};

void add(Issues& issues, const char* path, const std::string& message, const std::string& hint) {
  issues.push_back({"not_yet_modelled", path, message, hint});
}

/// What else helps: llm-foundry's own MPT has what transformers' has not.
std::string alternative(const std::string& type, std::string_view path) {
  const bool of_mpt = type == "mpt" && (path == "/model/positions" || path == "/model/norm_bias");
  return of_mpt ? ", or choose framework llm_foundry." : ", or choose another model_type.";
}

}  // namespace

void report_not_modelled_model(const Config& config, Issues& issues) {
  const std::string& type = config.model.model_type;
  const Model* defaults = huggingface_defaults(type == "megatron-gpt" ? "gpt2" : type);
  if (defaults == nullptr || transformers::make_architecture(config.model, DType::bfloat16) == nullptr) return;
  const bool llama_form = transformers::llama_form(config.model) != nullptr;
  Config of_class;
  of_class.model = *defaults;
  for (const Fixed& fixed : fixed_fields) {
    const Field& field = *find_field_by_path(fixed.path);
    if (same(field, config, of_class) || has_item(fixed.free_in, type) || (llama_form && fixed.free_in_llama_form)) {
      continue;
    }
    add(issues, fixed.path,
        "A model of type " + type + " with " + std::string(field.name()) + " " + value_words(field, config) +
            " is not yet modelled.",
        "Set it to " + value_words(field, of_class) + alternative(type, fixed.path));
  }
  for (const Needed& needed : needed_fields) {
    const Field& field = *find_field_by_path(needed.path);
    if (!has_item(needed.types, type) || field.in(config).integer() > 0) continue;
    add(issues, needed.path,
        "A model of type " + type + " without " + std::string(field.name()) + " is not yet modelled.",
        "Give it as config.json does.");
  }
  const Model& model = config.model;
  if (type == "jetmoe" && config.recipe.lora.rank > 0) {
    issues.push_back({"not_yet_modelled",
                      "/recipe/lora/rank",
                      "LoRA beside JetMoE's experts of attention is not yet modelled.",
                      "Set it to 0.",
                      {"/recipe/lora/rank", "0"}});
  }
  if (has_item("openai-gpt,jetmoe", type) && config.recipe.recomputation != Recomputation::none) {
    issues.push_back({"not_yet_modelled",
                      "/recipe/recomputation",
                      "transformers' class of " + type + " has no gradient checkpointing.",
                      "Set it to none.",
                      {"/recipe/recomputation", "none"}});
  }
  if ((type == "falcon" || type == "stablelm") && !model.parallel_attention_mlp && model.norms_per_layer < 2) {
    issues.push_back(
        {"not_yet_modelled",
         "/model/norms_per_layer",
         "A layer of a " + type + " model whose MLP follows attention, with one norm, is not yet modelled.",
         "Set it to 2.",
         {"/model/norms_per_layer", "2"}});
  }
  const bool own_width = type == "zamba2" || type == "recurrent_gemma";
  if (((!llama_form && !own_width) || type == "dbrx") &&
      model.hidden_size != model.num_attention_heads * model.head_dim) {
    add(issues, "/model/head_dim",
        "Heads of a " + type + " model that do not make up hidden_size are not yet modelled.",
        "Give hidden_size / num_attention_heads.");
  }
  if (llama_form) return;
  if (type == "codegen" && model.num_attention_heads % 4 != 0) {
    add(issues, "/model/num_attention_heads",
        "Heads of a codegen model that are no multiple of 4 are not yet modelled.",
        "CodeGenAttention divides them into four groups.");
  }
  if (type == "gpt_bigcode" && model.num_key_value_heads != 1 &&
      model.num_key_value_heads != model.num_attention_heads) {
    add(issues, "/model/num_key_value_heads",
        "Key and value heads of a gpt_bigcode model that several query heads share, but not all, are not yet modelled.",
        "GPTBigCodeAttention has one for all or one for each: give 1 or num_attention_heads.");
  }
  const bool shares_heads = type == "falcon" || type == "phi" || type == "gpt_bigcode" || own_width;
  if (!shares_heads && model.num_key_value_heads != model.num_attention_heads) {
    add(issues, "/model/num_key_value_heads",
        "Shared key and value heads of a " + type + " model are not yet modelled.",
        "Give as many as num_attention_heads, or choose another model_type.");
  }
}

}  // namespace trainmem
