// What single classes of config.json do otherwise than the others: one reader for each.
//
// Source: src/transformers/models/*/configuration_*.py, release 5.
#include "engine/config/layer_types.h"
#include "engine/presets/huggingface_keys.h"

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

// models/lfm2/modeling_lfm2.py, Lfm2MLP: the width of the MLP follows from intermediate_size, which the original
// configurations call block_ff_dim.
void read_lfm2(Model& model, const Keys& keys, Issues&) {
  keys.read(model.tie_word_embeddings, {"tie_embedding"});
  keys.read(model.conv_kernel_size, {"conv_L_cache"});
  keys.read(model.conv_bias, {"conv_bias"});
  keys.read(model.intermediate_size, {"block_ff_dim"});
  if (!keys.flag("block_auto_adjust_ff_dim", true)) return;
  std::int64_t width = 2 * model.intermediate_size / 3;
  double multiplier = 1;
  std::int64_t multiple = 256;
  keys.read(multiplier, {"block_ffn_dim_multiplier"});
  keys.read(multiple, {"block_multiple_of"});
  width = static_cast<std::int64_t>(multiplier * static_cast<double>(width));
  if (multiple > 0 && !keys.is_null("block_ffn_dim_multiplier")) width = (width + multiple - 1) / multiple * multiple;
  model.intermediate_size = width;
}

// models/granitemoehybrid/configuration_granitemoehybrid.py: without layer_types every layer is Mamba's. The MLP that
// all tokens share stands beside the experts, or alone.
void read_granite_hybrid(Model& model, const Keys& keys, Issues& issues) {
  if (keys.find({"layer_types.0"}) == nullptr) model.layer_types = word(LayerType::mamba);
  const auto* positions = keys.find({"position_embedding_type"});
  if (positions == nullptr || positions->text != "rope") model.positions = Positions::none;
  std::int64_t shared = 1024;
  keys.read(shared, {"shared_intermediate_size"});
  Experts& experts = model.experts;
  experts.num_experts = 8;
  keys.read(experts.num_experts, {"num_local_experts"});
  if (experts.num_experts > 0) {
    experts.num_experts_per_tok = 2;
    keys.read(experts.num_experts_per_tok, {"num_experts_per_tok"});
    experts.moe_intermediate_size = model.intermediate_size;
    experts.n_shared_experts = 1;
    experts.shared_expert_intermediate_size = shared;
  } else {
    model.intermediate_size = shared;
  }
  if (!has_layer_type(model, LayerType::mamba)) return;
  Mamba& mamba = model.mamba;
  mamba = {.n_heads = 128, .d_head = 0, .n_groups = 1, .d_state = 256};
  std::int64_t expand = 2;
  keys.read(expand, {"mamba_expand"});
  keys.read(mamba.n_heads, {"mamba_n_heads"});
  keys.read(mamba.d_head, {"mamba_d_head"});
  keys.read(mamba.n_groups, {"mamba_n_groups"});
  keys.read(mamba.d_state, {"mamba_d_state"});
  keys.read(mamba.d_conv, {"mamba_d_conv"});
  keys.read(mamba.chunk_size, {"mamba_chunk_size"});
  keys.read(mamba.conv_bias, {"mamba_conv_bias"});
  keys.read(mamba.proj_bias, {"mamba_proj_bias"});
  const std::int64_t width = expand * model.hidden_size;
  if (mamba.d_head == 0 && mamba.n_heads > 0) mamba.d_head = width / mamba.n_heads;  // "auto"
  if (mamba.n_heads * mamba.d_head != width)
    report_not_modelled_key(issues, "mamba_n_heads", "The class refuses heads that do not make up the inner width.");
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
    {"granitemoehybrid", read_granite_hybrid},
    {"lfm2", read_lfm2},
    {"cohere2", read_rope_where_sliding},
    {"exaone4", read_rope_where_sliding},
    {"exaone_moe", read_rope_where_sliding},
    {"smollm3", read_smollm3},
};

}  // namespace

void read_class_keys(Model& model, const HuggingFaceKeys& keys, Issues& issues) {
  for (const ClassReader& reader : readers)
    if (model.model_type == reader.model_type) return reader.read(model, keys, issues);
}

}  // namespace trainmem
