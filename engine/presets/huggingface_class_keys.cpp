// What single classes of config.json do otherwise than the others: one reader for each.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/presets/huggingface_keys.h"
#include "engine/presets/huggingface_v5_classes.h"

namespace trainmem {
namespace {

using Keys = HuggingFaceKeys;

void set_all_biases(Model& model, bool bias) {
  model.attention_bias = model.attention_output_bias = model.mlp_bias = bias;
}

void read_gpt_neox(Model& model, const Keys& keys, Issues&) {
  model.embedding_dropout = model.hidden_dropout;
  model.parallel_attention_mlp = keys.flag("use_parallel_residual", true);
}

void read_gptj(Model& model, const Keys& keys, Issues&) {
  double rotary_dim = 64;
  keys.read(rotary_dim, {"rotary_dim"});
  model.partial_rotary_factor =
      rotary_dim * static_cast<double>(model.num_attention_heads) / static_cast<double>(model.hidden_size);
}

void read_phi3(Model& model, const Keys&, Issues&) {
  model.embedding_dropout = 0;  // Phi3Model has no place for embd_pdrop
}

void read_opt(Model& model, const Keys& keys, Issues&) {
  if (!keys.flag("do_layer_norm_before", true)) {
    model.norm_placement = NormPlacement::post;
    model.final_norm = false;
  }
  set_all_biases(model, keys.flag("enable_bias", true));
  model.learned_positions = model.max_position_embeddings + 2;
}

void read_gpt2(Model& model, const Keys&, Issues&) { model.learned_positions = model.max_position_embeddings; }

void read_gpt_bigcode(Model& model, const Keys& keys, Issues&) {
  model.learned_positions = model.max_position_embeddings;
  if (!keys.flag("multi_query", true)) model.num_key_value_heads = model.num_attention_heads;
}

void read_mpt(Model& model, const Keys& keys, Issues& issues) {
  std::int64_t expansion_ratio = 4;
  keys.read(expansion_ratio, {"expansion_ratio"});
  model.intermediate_size = expansion_ratio * model.hidden_size;
  keys.read(model.num_key_value_heads, {"attn_config.kv_n_heads"});
  if (!keys.flag("no_bias", true)) report_not_modelled_key(issues, "no_bias", "MPT with biases is not modelled.");
  if (!keys.flag("attn_config.alibi", true))
    report_not_modelled_key(issues, "attn_config/alibi", "MPT without ALiBi is not modelled.");
}

void read_falcon(Model& model, const Keys& keys, Issues&) {
  const bool new_architecture = keys.flag("new_decoder_architecture", false);
  if (new_architecture) {
    model.num_key_value_heads = model.num_attention_heads;
    keys.read(model.num_key_value_heads, {"num_kv_heads", "n_head_kv"});
    std::int64_t norms = 2;
    keys.read(norms, {"num_ln_in_parallel_attn"});
    model.norms_per_layer = norms;
  } else {
    model.num_key_value_heads = keys.flag("multi_query", true) ? Size(1) : model.num_attention_heads;
    model.parallel_attention_mlp = keys.flag("parallel_attn", true);
    model.norms_per_layer = model.parallel_attention_mlp ? 1 : 2;
  }
  set_all_biases(model, keys.flag("bias", false));
  if (keys.flag("alibi", false)) model.positions = Positions::alibi;
}

void read_phi(Model&, const Keys& keys, Issues& issues) {
  if (keys.flag("qk_layernorm", false))
    report_not_modelled_key(issues, "qk_layernorm", "Normalised queries and keys of this class are not modelled.");
}

void read_stablelm(Model& model, const Keys& keys, Issues& issues) {
  read_phi(model, keys, issues);
  if (!keys.flag("use_parallel_residual", false)) return;
  model.parallel_attention_mlp = true;
  model.norms_per_layer = 1;
}

void read_starcoder2(Model& model, const Keys& keys, Issues&) { set_all_biases(model, keys.flag("use_bias", true)); }

void read_ernie(Model& model, const Keys& keys, Issues&) { set_all_biases(model, keys.flag("use_bias", false)); }

void read_phimoe(Model& model, const Keys& keys, Issues& issues) {
  keys.read(model.lm_head_bias, {"lm_head_bias"});
  double jitter = 0;
  keys.read(jitter, {"input_jitter_noise"});
  if (jitter == 0)
    report_not_modelled_key(issues, "input_jitter_noise", "Experts of this class without jitter are not modelled.");
}

void read_cohere(Model& model, const Keys& keys, Issues&) {
  keys.read(model.max_position_embeddings, {"model_max_length"});
  if (keys.flag("use_qk_norm", false)) model.qk_norm = QkNorm::full;  // one weight for each channel of each head
}

void read_bloom(Model&, const Keys& keys, Issues& issues) {
  if (keys.flag("apply_residual_connection_post_layernorm", false))
    report_not_modelled_key(issues, "apply_residual_connection_post_layernorm",
                            "Residuals after the norm are not modelled.");
}

void read_olmo(Model&, const Keys& keys, Issues& issues) {
  if (keys.find({"clip_qkv"}) != nullptr)
    report_not_modelled_key(issues, "clip_qkv", "Clipped queries, keys and values are not modelled.");
}

void read_seed_oss(Model& model, const Keys& keys, Issues&) {
  keys.read(model.attention_output_bias, {"attention_out_bias"});
}

/// RoPE in the sliding layers only; EXAONE has it everywhere where nothing slides.
void read_rope_where_sliding(Model& model, const Keys&, Issues&) {
  model.nope_every = model.sliding_window > 0 ? model.sliding_window_pattern : 0;
}

void read_smollm3(Model& model, const Keys& keys, Issues&) { keys.read(model.nope_every, {"no_rope_layer_interval"}); }

struct ClassReader {
  std::string_view model_type;
  void (*read)(Model&, const Keys&, Issues&);
};

constexpr ClassReader readers[] = {
    {"gpt_neox", read_gpt_neox},
    {"gptj", read_gptj},
    {"codegen", read_gptj},
    {"phi3", read_phi3},
    {"opt", read_opt},
    {"gpt2", read_gpt2},
    {"gpt_neo", read_gpt2},
    {"gpt_bigcode", read_gpt_bigcode},
    {"mpt", read_mpt},
    {"falcon", read_falcon},
    {"phi", read_phi},
    {"stablelm", read_stablelm},
    {"starcoder2", read_starcoder2},
    {"ernie4_5", read_ernie},
    {"phimoe", read_phimoe},
    {"cohere", read_cohere},
    {"bloom", read_bloom},
    {"olmo", read_olmo},
    {"olmoe", read_olmo},
    {"seed_oss", read_seed_oss},
    {"cohere2", read_rope_where_sliding},
    {"exaone4", read_rope_where_sliding},
    {"exaone_moe", read_rope_where_sliding},
    {"smollm3", read_smollm3},
};

}  // namespace

void read_class_keys(Model& model, const HuggingFaceKeys& keys, Issues& issues) {
  for (const ClassReader& reader : readers)
    if (model.model_type == reader.model_type) return reader.read(model, keys, issues);
  read_hybrid_class_keys(model, keys, issues);
  read_v5_class_keys(model, keys, issues);
}

}  // namespace trainmem
