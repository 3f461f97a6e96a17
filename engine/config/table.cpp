// Every field of a configuration, one entry each, in the order of config.h; those of the recipe are in table_recipe.h.
//
// Entries: path, link key, member, minimum, maximum, unit, group, meaning. A link key stays for ever: links that
// people have shared use it.
#include <array>
#include <cstddef>

#include "engine/config/fields.h"
#include "engine/config/layer_types.h"
#include "engine/config/table_recipe.h"

namespace trainmem {
namespace {

constexpr double bytes_limit = 1125899906842624;  // 2^50: a pebibyte in one GPU
constexpr double pattern_limit = 400;

constexpr Field model_and_gpu_fields[] = {
    // Model: size.
    {"/model/model_type", "type", [](Config& c) -> Member { return c.model.model_type; }, 1, 40, "", "Model",
     "Hugging Face model_type: it selects the forward that is run."},
    {"/model/vocab_size", "vocab", [](Config& c) -> Member { return c.model.vocab_size; }, 1, 1e8, "tokens", "Model",
     "Entries of the vocabulary: rows of the embedding and of the output head."},
    {"/model/hidden_size", "hidden", [](Config& c) -> Member { return c.model.hidden_size; }, 1, 1048576, "elements",
     "Model", "Width of the residual stream."},
    {"/model/num_hidden_layers", "layers", [](Config& c) -> Member { return c.model.num_hidden_layers; }, 1, 1024,
     "layers", "Model", "Transformer blocks."},
    {"/model/num_attention_heads", "heads", [](Config& c) -> Member { return c.model.num_attention_heads; }, 1, 65536,
     "heads", "Model", "Query heads of one attention."},
    {"/model/num_key_value_heads", "kv_heads", [](Config& c) -> Member { return c.model.num_key_value_heads; }, 1,
     65536, "heads", "Model",
     "Key and value heads: as many as query heads, fewer when they are shared, one for multi-query attention."},
    {"/model/head_dim", "head_dim", [](Config& c) -> Member { return c.model.head_dim; }, 1, 65536, "elements", "Model",
     "Size of one head."},
    {"/model/intermediate_size", "ffn", [](Config& c) -> Member { return c.model.intermediate_size; }, 1, 8388608,
     "elements", "Model", "Inner width of the MLP."},
    {"/model/max_position_embeddings", "max_positions",
     [](Config& c) -> Member { return c.model.max_position_embeddings; }, 0, 1e9, "tokens", "Model",
     "Longest sequence the model was made for; 0: not stated."},
    {"/model/tie_word_embeddings", "tied", [](Config& c) -> Member { return c.model.tie_word_embeddings; }, 0, 1, "",
     "Model", "The output head and the embedding are one tensor."},

    // Model: kind of block.
    {"/model/hidden_act", "act", [](Config& c) -> Member { return c.model.hidden_act; }, 0, 0, "", "Block",
     "Activation function of the MLP."},
    {"/model/gated_mlp", "gated", [](Config& c) -> Member { return c.model.gated_mlp; }, 0, 1, "", "Block",
     "The MLP has three matrices, down(act(gate(x)) * up(x)), in place of two."},
    {"/model/norm", "norm", [](Config& c) -> Member { return c.model.norm; }, 0, 0, "", "Block", "Kind of norm."},
    {"/model/norm_placement", "norm_place", [](Config& c) -> Member { return c.model.norm_placement; }, 0, 0, "",
     "Block", "Where the norms of a block stand: before attention and MLP, after them, or both."},
    {"/model/norms_per_layer", "norms", [](Config& c) -> Member { return c.model.norms_per_layer; }, 0, 4, "norms",
     "Block", "Norms of the residual width in one block."},
    {"/model/norm_weight", "norm_weight", [](Config& c) -> Member { return c.model.norm_weight; }, 0, 1, "", "Block",
     "Norms have a learned scale."},
    {"/model/norm_bias", "norm_bias", [](Config& c) -> Member { return c.model.norm_bias; }, 0, 1, "", "Block",
     "Norms have a learned bias."},
    {"/model/embedding_norm", "emb_norm", [](Config& c) -> Member { return c.model.embedding_norm; }, 0, 1, "", "Block",
     "A norm follows the embedding."},
    {"/model/final_norm", "final_norm", [](Config& c) -> Member { return c.model.final_norm; }, 0, 1, "", "Block",
     "A norm stands before the output head."},
    {"/model/qk_norm", "qk_norm", [](Config& c) -> Member { return c.model.qk_norm; }, 0, 0, "", "Block",
     "Norms on queries and keys: none, one for each head, or one over the full width."},
    {"/model/attention_bias", "attn_bias", [](Config& c) -> Member { return c.model.attention_bias; }, 0, 1, "",
     "Block", "Query, key and value projections have biases."},
    {"/model/attention_output_bias", "attn_out_bias", [](Config& c) -> Member { return c.model.attention_output_bias; },
     0, 1, "", "Block", "The output projection of attention has a bias."},
    {"/model/mlp_bias", "mlp_bias", [](Config& c) -> Member { return c.model.mlp_bias; }, 0, 1, "", "Block",
     "The projections of the MLP have biases."},
    {"/model/lm_head_bias", "head_bias", [](Config& c) -> Member { return c.model.lm_head_bias; }, 0, 1, "", "Block",
     "The output head has a bias."},
    {"/model/positions", "pos", [](Config& c) -> Member { return c.model.positions; }, 0, 0, "", "Block",
     "How positions enter: rotary, a learned table, ALiBi, or not at all."},
    {"/model/learned_positions", "pos_rows", [](Config& c) -> Member { return c.model.learned_positions; }, 0, 1e9,
     "rows", "Block", "Rows of the learned position table."},
    {"/model/partial_rotary_factor", "rotary", [](Config& c) -> Member { return c.model.partial_rotary_factor; }, 0, 1,
     "share", "Block", "Share of head_dim that rotary positions turn."},
    {"/model/attention_dropout", "attn_drop", [](Config& c) -> Member { return c.model.attention_dropout; }, 0, 1,
     "probability", "Block", "Dropout on attention probabilities; above 0 its mask is kept for backward."},
    {"/model/hidden_dropout", "drop", [](Config& c) -> Member { return c.model.hidden_dropout; }, 0, 1, "probability",
     "Block", "Dropout on the outputs of attention and MLP; above 0 its mask is kept for backward."},
    {"/model/embedding_dropout", "emb_drop", [](Config& c) -> Member { return c.model.embedding_dropout; }, 0, 1,
     "probability", "Block", "Dropout after the embedding."},
    {"/model/parallel_attention_mlp", "parallel", [](Config& c) -> Member { return c.model.parallel_attention_mlp; }, 0,
     1, "", "Block", "Attention and MLP read the same input, side by side."},
    {"/model/sliding_window", "window", [](Config& c) -> Member { return c.model.sliding_window; }, 0, 1e9, "tokens",
     "Block", "Tokens that a sliding layer looks back; 0: none."},
    {"/model/sliding_window_pattern", "window_every",
     [](Config& c) -> Member { return c.model.sliding_window_pattern; }, 1, 4096, "layers", "Block",
     "Every n-th layer attends to everything; 1: all layers slide."},
    {"/model/attn_logit_softcapping", "attn_cap", [](Config& c) -> Member { return c.model.attn_logit_softcapping; }, 0,
     1e6, "", "Block", "Cap of the attention scores; 0: none."},
    {"/model/final_logit_softcapping", "logit_cap", [](Config& c) -> Member { return c.model.final_logit_softcapping; },
     0, 1e6, "", "Block", "Cap of the output logits; 0: none."},
    {"/model/word_embed_proj_dim", "emb_dim", [](Config& c) -> Member { return c.model.word_embed_proj_dim; }, 0,
     1048576, "elements", "Block", "Width of the embedding where it differs from hidden_size; 0: the same."},
    {"/model/attention_sinks", "sinks", [](Config& c) -> Member { return c.model.attention_sinks; }, 0, 1, "", "Block",
     "Every head has a learned sink logit."},
    {"/model/layer_types", "layer_types",
     [](Config& c) -> Member { return Member(c.model.layer_types, normalize_layer_types); }, 0, pattern_limit, "",
     "Block",
     "Kinds of the layers from the first on, repeated until there are enough: 3*linear_attention,full_attention; in "
     "JSON also a list. Empty: attention, as sliding_window_pattern says."},
    {"/model/conv_kernel_size", "conv_kernel", [](Config& c) -> Member { return c.model.conv_kernel_size; }, 1, 64,
     "tokens", "Block", "Tokens that a short convolution, a layer of kind conv, looks at: LFM2's conv_L_cache."},
    {"/model/conv_bias", "conv_bias", [](Config& c) -> Member { return c.model.conv_bias; }, 0, 1, "", "Block",
     "Short convolutions and their projections have biases."},
    {"/model/nope_every", "nope_every", [](Config& c) -> Member { return c.model.nope_every; }, 0, 4096, "layers",
     "Block", "Every n-th layer has no rotary positions; 0: none."},
    {"/model/num_nextn_predict_layers", "mtp", [](Config& c) -> Member { return c.model.num_nextn_predict_layers; }, 0,
     16, "layers", "Block", "Extra layers for multi-token prediction."},
    {"/model/global_head_dim", "global_head_dim", [](Config& c) -> Member { return c.model.global_head_dim; }, 0, 65536,
     "elements", "Block", "Size of one head in layers without a sliding window; 0: head_dim."},
    {"/model/num_global_key_value_heads", "global_kv_heads",
     [](Config& c) -> Member { return c.model.num_global_key_value_heads; }, 0, 65536, "heads", "Block",
     "Key and value heads in layers without a sliding window; 0: num_key_value_heads."},
    {"/model/attention_k_eq_v", "k_eq_v", [](Config& c) -> Member { return c.model.attention_k_eq_v; }, 0, 1, "",
     "Block", "Layers without a sliding window have no value projection: what the key projection gives is both."},
    {"/model/num_kv_shared_layers", "kv_shared", [](Config& c) -> Member { return c.model.num_kv_shared_layers; }, 0,
     1024, "layers", "Block", "Last layers that attend to the keys and values of the last layer of their kind before."},
    {"/model/use_double_wide_mlp", "kv_shared_wide", [](Config& c) -> Member { return c.model.use_double_wide_mlp; }, 0,
     1, "", "Block", "The MLP of layers that share keys and values is twice as wide."},
    {"/model/hidden_size_per_layer_input", "layer_emb",
     [](Config& c) -> Member { return c.model.hidden_size_per_layer_input; }, 0, 1048576, "elements", "Block",
     "Width of embeddings that every layer has of its own; 0: there are none."},
    {"/model/vocab_size_per_layer_input", "layer_vocab",
     [](Config& c) -> Member { return c.model.vocab_size_per_layer_input; }, 0, 1e8, "tokens", "Block",
     "Entries of the vocabulary of these embeddings."},
    {"/model/altup_num_inputs", "altup", [](Config& c) -> Member { return c.model.altup_num_inputs; }, 0, 64, "streams",
     "Block", "Gemma 3n: streams of hidden states side by side (AltUp), of which each layer computes one; 0: one."},
    {"/model/laurel_rank", "laurel", [](Config& c) -> Member { return c.model.laurel_rank; }, 0, 65536, "elements",
     "Block", "Gemma 3n: rank of a learned residual beside attention (LAuReL); 0: none."},
    {"/model/activation_sparsity_layers", "sparse_act",
     [](Config& c) -> Member { return c.model.activation_sparsity_layers; }, 0, 4096, "layers", "Block",
     "Gemma 3n: leading layers whose MLP lets the largest gates of a token through alone "
     "(activation_sparsity_pattern)."},

    // Model: mixture of experts.
    {"/model/experts/num_experts", "experts", [](Config& c) -> Member { return c.model.experts.num_experts; }, 0, 65536,
     "experts", "Experts", "Routed experts of one layer; 0: the model is dense."},
    {"/model/experts/num_experts_per_tok", "top_k",
     [](Config& c) -> Member { return c.model.experts.num_experts_per_tok; }, 0, 65536, "experts", "Experts",
     "Routed experts that one token visits."},
    {"/model/experts/moe_intermediate_size", "expert_ffn",
     [](Config& c) -> Member { return c.model.experts.moe_intermediate_size; }, 0, 8388608, "elements", "Experts",
     "Inner width of one routed expert."},
    {"/model/experts/n_shared_experts", "shared_experts",
     [](Config& c) -> Member { return c.model.experts.n_shared_experts; }, 0, 65536, "experts", "Experts",
     "Experts that every token visits."},
    {"/model/experts/shared_expert_intermediate_size", "shared_ffn",
     [](Config& c) -> Member { return c.model.experts.shared_expert_intermediate_size; }, 0, 8388608, "elements",
     "Experts", "Inner width of one shared expert; 0: that of a routed one."},
    {"/model/experts/shared_expert_gate", "shared_gate",
     [](Config& c) -> Member { return c.model.experts.shared_expert_gate; }, 0, 1, "", "Experts",
     "The shared expert's output is weighted by a learned gate."},
    {"/model/experts/first_k_dense_replace", "dense_first",
     [](Config& c) -> Member { return c.model.experts.first_k_dense_replace; }, 0, 4096, "layers", "Experts",
     "Leading layers that have a dense MLP."},
    {"/model/experts/moe_layer_freq", "moe_every", [](Config& c) -> Member { return c.model.experts.moe_layer_freq; },
     1, 4096, "layers", "Experts", "After the leading dense layers, every n-th layer has experts."},
    {"/model/experts/router_bias", "router_bias", [](Config& c) -> Member { return c.model.experts.router_bias; }, 0, 1,
     "", "Experts", "The router has a bias for each expert."},
    {"/model/experts/expert_bias", "expert_bias", [](Config& c) -> Member { return c.model.experts.expert_bias; }, 0, 1,
     "", "Experts", "The projections of the experts have biases."},
    {"/model/experts/moe_latent_size", "expert_latent",
     [](Config& c) -> Member { return c.model.experts.moe_latent_size; }, 0, 1048576, "elements", "Experts",
     "Width that the routed experts work in, between two projections of all tokens; 0: hidden_size."},
    {"/model/experts/router_auxiliary_loss", "aux_loss",
     [](Config& c) -> Member { return c.model.experts.router_auxiliary_loss; }, 0, 0, "", "Experts",
     "A term of the loss that balances the experts (output_router_logits of config.json): over all tokens, or masked, "
     "where the training loop gives the model an attention mask."},

    // Model: multi-head latent attention.
    {"/model/latent_attention/q_lora_rank", "q_rank",
     [](Config& c) -> Member { return c.model.latent_attention.q_lora_rank; }, 0, 1048576, "elements",
     "Latent attention", "Rank of the query's down-projection; 0: queries are projected directly."},
    {"/model/latent_attention/kv_lora_rank", "kv_rank",
     [](Config& c) -> Member { return c.model.latent_attention.kv_lora_rank; }, 0, 1048576, "elements",
     "Latent attention", "Rank of the shared key and value projection; 0: ordinary attention."},
    {"/model/latent_attention/qk_nope_head_dim", "nope_dim",
     [](Config& c) -> Member { return c.model.latent_attention.qk_nope_head_dim; }, 0, 65536, "elements",
     "Latent attention", "Part of a query or key head without positions."},
    {"/model/latent_attention/qk_rope_head_dim", "rope_dim",
     [](Config& c) -> Member { return c.model.latent_attention.qk_rope_head_dim; }, 0, 65536, "elements",
     "Latent attention", "Part of a query or key head with rotary positions."},
    {"/model/latent_attention/v_head_dim", "v_dim",
     [](Config& c) -> Member { return c.model.latent_attention.v_head_dim; }, 0, 65536, "elements", "Latent attention",
     "Size of a value head."},

    // Model: linear attention.
    {"/model/linear_attention/linear_num_key_heads", "linear_k_heads",
     [](Config& c) -> Member { return c.model.linear_attention.linear_num_key_heads; }, 0, 65536, "",
     "Linear attention", "Heads of queries and keys of linear attention; 0: no gated delta network."},
    {"/model/linear_attention/linear_num_value_heads", "linear_v_heads",
     [](Config& c) -> Member { return c.model.linear_attention.linear_num_value_heads; }, 0, 65536, "",
     "Linear attention", "Heads of values of linear attention."},
    {"/model/linear_attention/linear_key_head_dim", "linear_k_dim",
     [](Config& c) -> Member { return c.model.linear_attention.linear_key_head_dim; }, 0, 65536, "elements",
     "Linear attention", "Size of a key head of linear attention."},
    {"/model/linear_attention/linear_value_head_dim", "linear_v_dim",
     [](Config& c) -> Member { return c.model.linear_attention.linear_value_head_dim; }, 0, 65536, "elements",
     "Linear attention", "Size of a value head of linear attention."},
    {"/model/linear_attention/linear_conv_kernel_dim", "linear_conv",
     [](Config& c) -> Member { return c.model.linear_attention.linear_conv_kernel_dim; }, 0, 64, "tokens",
     "Linear attention", "Tokens that the convolution before linear attention sees."},

    // Model: Mamba 2.
    {"/model/mamba/n_heads", "ssm_heads", [](Config& c) -> Member { return c.model.mamba.n_heads; }, 0, 65536, "heads",
     "Mamba", "Heads of one layer of kind mamba or hybrid; 0: there are none."},
    {"/model/mamba/d_head", "ssm_head_dim", [](Config& c) -> Member { return c.model.mamba.d_head; }, 0, 65536,
     "elements", "Mamba", "Size of one of its heads: with n_heads the inner width."},
    {"/model/mamba/n_groups", "ssm_groups", [](Config& c) -> Member { return c.model.mamba.n_groups; }, 1, 65536,
     "groups", "Mamba", "Groups of heads that share B and C."},
    {"/model/mamba/d_state", "ssm_state", [](Config& c) -> Member { return c.model.mamba.d_state; }, 0, 65536,
     "elements", "Mamba", "Size of the state of one channel."},
    {"/model/mamba/d_conv", "ssm_conv", [](Config& c) -> Member { return c.model.mamba.d_conv; }, 2, 64, "tokens",
     "Mamba", "Tokens that its convolution looks at."},
    {"/model/mamba/chunk_size", "ssm_chunk", [](Config& c) -> Member { return c.model.mamba.chunk_size; }, 1, 65536,
     "tokens", "Mamba", "Tokens that are computed as one matrix product."},
    {"/model/mamba/conv_bias", "ssm_conv_bias", [](Config& c) -> Member { return c.model.mamba.conv_bias; }, 0, 1, "",
     "Mamba", "Its convolution has a bias."},
    {"/model/mamba/proj_bias", "ssm_bias", [](Config& c) -> Member { return c.model.mamba.proj_bias; }, 0, 1, "",
     "Mamba", "Its projections have biases."},
    {"/model/mamba/gated_norm", "ssm_norm", [](Config& c) -> Member { return c.model.mamba.gated_norm; }, 0, 1, "",
     "Mamba", "Its gated result is normalised."},

    // GPU.
    {"/gpu/name", "gpu_name", [](Config& c) -> Member { return c.gpu.name; }, 0, text_limit, "", "GPU",
     "Name to show."},
    {"/gpu/architecture", "gpu_arch", [](Config& c) -> Member { return c.gpu.architecture; }, 0, 0, "", "GPU",
     "Sets the size of contexts and of matrix products' workspaces."},
    {"/gpu/memory_bytes", "gpu_bytes", [](Config& c) -> Member { return c.gpu.memory_bytes; }, 0, bytes_limit, "bytes",
     "GPU", "Marketed memory; 0: no GPU given, so no verdict."},
    {"/gpu/driver_visible_bytes", "gpu_visible", [](Config& c) -> Member { return c.gpu.driver_visible_bytes; }, 0,
     bytes_limit, "bytes", "GPU", "The total that nvidia-smi shows; 0: unknown."},
    {"/gpu/usable_bytes", "gpu_usable", [](Config& c) -> Member { return c.gpu.usable_bytes; }, 0, bytes_limit, "bytes",
     "GPU", "What the runtime gives a program; 0: unknown."},
    {"/gpu/bandwidth_gb_per_s", "gpu_bw", [](Config& c) -> Member { return c.gpu.bandwidth_gb_per_s; }, 0, 1e7, "GB/s",
     "GPU", "Memory bandwidth of the datasheet, in 1e9 bytes a second; 0: unknown."},
    {"/gpu/measured_bandwidth_gb_per_s", "gpu_bw_measured",
     [](Config& c) -> Member { return c.gpu.measured_bandwidth_gb_per_s; }, 0, 1e7, "GB/s", "GPU",
     "Memory bandwidth that was measured, in 1e9 bytes a second; 0: unknown."},
    {"/gpu/bf16_dense_tflops", "gpu_tflops", [](Config& c) -> Member { return c.gpu.bf16_dense_tflops; }, 0, 1e7,
     "TFLOP/s", "GPU", "Dense bf16 arithmetic; 0: unknown."},
    {"/gpu/memory_technology", "gpu_memory", [](Config& c) -> Member { return c.gpu.memory_technology; }, 0, text_limit,
     "", "GPU", "Memory technology, such as hbm3."},

};

template <std::size_t first, std::size_t second>
constexpr std::array<Field, first + second> joined(const Field (&a)[first], const Field (&b)[second]) {
  std::array<Field, first + second> all{};
  for (std::size_t i = 0; i < first; ++i) all[i] = a[i];
  for (std::size_t i = 0; i < second; ++i) all[first + i] = b[i];
  return all;
}

constexpr auto fields = joined(model_and_gpu_fields, recipe_fields);

}  // namespace

FieldList config_fields() { return {fields.data(), static_cast<int>(fields.size())}; }

}  // namespace trainmem
