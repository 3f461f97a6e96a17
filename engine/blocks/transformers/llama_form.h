// In what the families of Llama's kind differ beyond the fields of a configuration: how transformers writes them.
#pragma once

#include "engine/blocks/transformers/parts.h"

namespace trainmem::transformers {

struct LlamaForm {
  explicit LlamaForm(const char* type) : model_type(type) {}
  const char* model_type;
  enum class BlockForm {
    llama,
    stablelm,
    gemma2,
    olmo2,
    cohere,
    minimax,
    dbrx,
    one_mixer,  ///< Mamba, attention, an MLP or experts, after one norm
    falcon_h1,  ///< Mamba and attention beside each other, then an MLP
    gemma4,
    gemma3n,
    olmo_hybrid  ///< norms after attention and its MLP, but before a gated delta network and its MLP
  } block = BlockForm::llama;
  NormLayer::Form norm = NormLayer::Form::llama;
  /// How RoPE turns query and key.
  enum class Turning {
    whole,                  ///< all channels of a head
    fp32_tables,            ///< with tables in fp32
    cohere,                 ///< in fp32, neighbouring channels as pairs
    phi3,                   ///< the first channels, each of query and key joined to the others at once
    stablelm,               ///< the same; what was split stays a local variable of the forward
    nemotron,               ///< the first channels, joined after both are turned
    halves,                 ///< the two halves of the channels each by itself
    complex,                ///< latent attention: as complex numbers
    even_and_odd,           ///< latent attention: every second channel by itself, and the others
    helium,                 ///< neighbouring channels as pairs, with tables that every block makes
    glm,                    ///< the same of the first channels
    glm_positions,          ///< the same in models that see: three positions for each token, put together once
    ernie,                  ///< the same of all channels, in fp32
    three_positions,        ///< models that see: three positions for each token, put together by every block
    four_positions,         ///< the same with four, in fp32
    interleaved_positions,  ///< the same, put together once
    interleaved_partial,    ///< the same; the first channels turn
  } turning = Turning::whole;
  /// Where norms of each head's query and key stand.
  enum class QueryKeyNorm {
    heads_last,   ///< on (b, s, heads, d)
    heads_first,  ///< on (b, heads, s, d)
    turned,       ///< on what RoPE turned
  } query_key_norm = QueryKeyNorm::heads_last;
  /// In which order the heads are set apart. Backward goes the other way round.
  enum class Heads {
    at_once,            ///< each projection's
    after_projections,  ///< after all three projections
    transposed_last,    ///< with the transposition left to the end, after the norms
  } heads = Heads::at_once;
  /// The gate of attention's output that is a linear layer of its own; channels_after and heads run after attention.
  enum class OutputGate { none, channels, channels_after, heads, heads_first } output_gate = OutputGate::none;
  Sinks sinks = Sinks::column;
  bool two_rotaries = false;      ///< sliding layers have tables of their own
  bool idle_rotary = false;       ///< one that makes no tables
  bool both_masks = false;        ///< a mask without a window is made even where every layer has one
  bool inner_dropout = false;     ///< attention and MLP end with their dropout: o_proj's result goes before the sum
  bool fused_attention = false;   ///< query, key and value are one linear layer
  bool fused_mlp = false;         ///< gate and up are one linear layer
  bool scaled_embedding = false;  ///< times a buffer
  bool integer_scale = false;     ///< which is an integer, cast in every forward
  bool multipliers = false;       ///< embedding and residuals times numbers
  bool scaled_residuals = false;  ///< residuals alone
  bool scaled_stream = false;     ///< embeddings times a number, after the masks are made
  bool scaled_output = false;     ///< what goes to the head, times a number
  bool scaled_logits = false;     ///< times a number
  bool scaled_queries = false;    ///< times a number of each position
  bool scaled_keys = false;       ///< times a number
  bool scaled_values = false;     ///< times a number
  bool turns_whole_where_sliding = false;  ///< and the first channels in the other layers
  bool fp32_logits = false;                ///< the model returns them
  bool shifts_logits = false;              ///< the loss is that of a copy of them without the last position
  bool jitter = false;                ///< tokens are multiplied with random numbers, before the experts and the router
  bool gated_attention = false;       ///< the query projection has a gate of the output beside each head
  bool turns_where_sliding = false;   ///< layers without a window have no RoPE
  bool tables_where_sliding = false;  ///< and are given no tables
  bool idle_window = false;  ///< a model without a window makes the mask of one of no tokens, and no layer takes it
  bool turns_where_dense = false;  ///< layers without experts have RoPE even so
  bool fp32_residuals = false;     ///< what is added to in every block
  bool attends = true;             ///< the model makes positions and masks
  bool keeps_positions = false;    ///< the model's forward has the positions, its blocks are given none
  bool masks_of_kinds = false;     ///< a mask for each kind of layers that there is, and no other
  bool holds_attention = false;    ///< what attention gives has a variable of its own in the block
  bool differential = false;       ///< attention to two halves of the values, of which one is subtracted
  bool bare_head_norms = false;    ///< norms of heads have no weight, and queries are multiplied with a number after
  bool normed_embedding = false;   ///< embeddings go through a norm without weight
  bool clamps = false;             ///< both factors of the gated product have a limit
  bool sub_norms = false;          ///< norms before the last layers of attention and MLP
  bool keys_in_place = false;      ///< latent attention: keys are written into one tensor in two pieces
  /// When the experts that all tokens share run, and where they are added.
  enum class Shared { last, first, after_router, averaged } shared = Shared::last;
  bool scaled_experts = false;   ///< the routed sum, times a number
  bool router_views = false;     ///< the router takes its own view of the tokens, where there is no shared expert, too
  bool sum_in_fp32 = false;      ///< of routed and shared experts
  bool norm_of_sum = false;      ///< a norm stands on that sum
  bool masks_sentinels = false;  ///< grouped experts fill the rows of no expert
};

/// One kernel for the norms of this model: torch's layer norm, which its class calls already, or Liger-Kernel's
/// RMSNorm. The latter's backward writes over the gradient that it is given, but not where norms follow attention and
/// MLP.
enum class FusedNorm { none, layer_norm, liger_in_place, liger };
FusedNorm fused_norm(const Model& model);
/// Tokens that lightning attention takes at once. models/minimax/configuration_minimax.py: block_size.
inline constexpr std::int64_t lightning_block = 256;

/// Kernel libraries have one kernel that turns query and key of this model in place.
bool has_fused_rope(const Model& model);
/// fms-acceleration fuses the adapters of this model's attention.
bool has_fused_lora(const Model& model);
/// Liger-Kernel has one kernel for the gated product of this model's MLP.
bool has_fused_mlp(const Model& model);

/// The form of a model_type; null if it is not of Llama's kind.
const LlamaForm* llama_form(const Model& model);
/// The same of the types whose layers are of several kinds, or have Mamba; a part of llama_form().
const LlamaForm* hybrid_form(const Model& model);
/// The same of classes that are new in transformers 5.
const LlamaForm* transformers5_form(const Model& model);

}  // namespace trainmem::transformers
