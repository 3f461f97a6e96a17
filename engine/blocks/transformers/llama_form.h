// In what the families of Llama's kind differ beyond the fields of a configuration: how transformers writes them.
#pragma once

#include "engine/blocks/transformers/parts.h"

namespace trainmem::transformers {

struct LlamaForm {
  const char* model_type;
  enum class BlockForm { llama, stablelm, gemma2, olmo2, cohere, minimax } block = BlockForm::llama;
  NormLayer::Form norm = NormLayer::Form::llama;
  /// How RoPE turns query and key: all channels; with fp32 tables; with tables of the embeddings' format, cast back to
  /// what they were; in fp32 with neighbouring channels as pairs; only the first channels, joined at once or after both
  /// are turned.
  /// The two halves each by itself. Latent attention: complex numbers, or neighbouring channels moved apart first.
  /// Neighbouring channels as pairs, with tables that every block makes: of all channels, of the first ones, in fp32.
  /// Models that see have three positions for each token: tables that every block puts together, or put together once.
  enum class Turning {
    whole,
    fp32_tables,
    cast_back,
    cohere,
    phi3,
    stablelm,
    nemotron,
    halves,
    complex,
    pairs,
    helium,
    glm,
    ernie,
    three_positions,
    interleaved_positions
  } turning = Turning::whole;
  /// Where norms of each head's query and key stand: on (b, s, heads, d), on (b, heads, s, d), or on what RoPE turned.
  enum class QueryKeyNorm { heads_last, heads_first, turned } query_key_norm = QueryKeyNorm::heads_last;
  /// In which order the heads are set apart: each projection at once; after all three projections; or with the
  /// transposition left to the end, after the norms. Backward goes the other way round.
  enum class Heads { at_once, after_projections, transposed_last } heads = Heads::at_once;
  bool two_rotaries = false;      ///< sliding layers have tables of their own
  bool both_masks = false;        ///< a mask without a window is made even where every layer has one
  bool inner_dropout = false;     ///< attention and MLP end with their dropout: o_proj's result goes before the sum
  bool fused_attention = false;   ///< query, key and value are one linear layer
  bool fused_mlp = false;         ///< gate and up are one linear layer
  bool scaled_embedding = false;  ///< times a buffer
  bool multipliers = false;       ///< embedding and residuals times numbers
  bool scaled_logits = false;     ///< times a number
  bool scaled_queries = false;    ///< times a number of each position
  bool jitter = false;            ///< tokens are multiplied with random numbers, before the experts and the router
  bool shared_first = false;      ///< experts that all tokens share run before the router
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
/// Liger-Kernel has one kernel for the gated product of this model's MLP.
bool has_fused_mlp(const Model& model);

/// The form of a model_type; null if it is not of Llama's kind.
const LlamaForm* llama_form(const Model& model);

}  // namespace trainmem::transformers
