// The bound on sizes: far above any machine, and low enough that no sum of bytes overflows.
#include <algorithm>

#include "engine/config/sequences.h"
#include "engine/validation/rules.h"

namespace trainmem {

namespace {

constexpr double most_bytes = 1152921504606846976.0;  // 2^60

double real(std::int64_t value) { return static_cast<double>(value); }

/// The widest side of any matrix of a layer.
double widest(const Model& m) {
  const double heads = real(m.num_attention_heads);
  const LatentAttention& l = m.latent_attention;
  const double head =
      real(std::max({m.head_dim.value(), l.qk_nope_head_dim + l.qk_rope_head_dim, l.qk_nope_head_dim + l.v_head_dim}));
  const double shared = real(std::max<std::int64_t>(1, m.experts.n_shared_experts)) *
                        real(std::max(m.experts.moe_intermediate_size, m.experts.shared_expert_intermediate_size));
  return std::max({real(m.hidden_size), real(m.intermediate_size), heads * head, shared, real(l.q_lora_rank),
                   real(l.kv_lora_rank + l.qk_rope_head_dim), real(m.word_embed_proj_dim)});
}

/// Micro-batches whose activations one GPU may hold at once.
double in_flight(const Recipe& r) {
  const double all = real(r.gradient_accumulation_steps);
  if (r.pipeline_parallel == 1) return 1;
  if (r.pipeline_schedule == PipelineSchedule::gpipe) return all;
  return std::min(all, 2 * real(r.pipeline_parallel) * real(r.virtual_pipeline_stages));
}

}  // namespace

void check_size(const Config& config, Issues& issues) {
  const Model& m = config.model;
  const Recipe& r = config.recipe;
  const double width = widest(m);
  const double vocabulary = real(m.vocab_size);
  const double sequence = real(r.sequence_length);
  const double layers = real(m.num_hidden_layers) + real(m.num_nextn_predict_layers);
  const double tokens = real(sequences_of_micro_batch(r)) * sequence;
  const double copies = real(std::max<std::int64_t>(1, m.experts.num_experts_per_tok)) * r.expert_imbalance;
  const bool keeps_scores = r.attention == AttentionKernel::eager || r.attention == AttentionKernel::sdpa_math;
  const double scores = keeps_scores ? real(m.num_attention_heads) * sequence : 0;
  const double activations = tokens * ((copies * width + scores) * layers + vocabulary) * in_flight(r);
  const double buffers = tokens * width * real(r.gradient_accumulation_steps);
  const double experts = real(std::max<std::int64_t>(1, m.experts.num_experts));
  const double positions = real(std::max(m.learned_positions, m.max_position_embeddings)) * width;
  const double adapters = real(r.lora.rank) * width * layers;
  const double weights = 4 * width * width * experts * layers + 2 * vocabulary * width + positions + adapters;
  if (64 * (activations + buffers + weights) < most_bytes) return;
  issues.push_back({"too_large", "", "The sizes lead to totals beyond 2^60 bytes.",
                    "Give smaller sizes: micro_batch_size, sequence_length, layers or widths."});
}

}  // namespace trainmem
