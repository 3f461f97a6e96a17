// The parameter tensors of Gemma 3n and 4: models/gemma3n and gemma4, modeling_*.py.
#include "engine/parameters/builder.h"

namespace trainmem {
namespace {

using Kind = ParameterKind;

constexpr ParameterSplit column = ParameterSplit::column;
constexpr ParameterSplit row = ParameterSplit::row;
constexpr ParameterSplit replicated = ParameterSplit::replicated;

void attention(ParameterBuilder& b, LayerKind kind) {
  const Model& m = b.model;
  const std::int64_t width = head_dim_of(m, kind.type);
  const std::int64_t query = m.num_attention_heads * width;
  const std::int64_t key = key_value_heads_of(m, kind.type) * width;
  const auto bias = [&](const char* name) { return m.attention_bias ? name : nullptr; };
  const auto project = [&](const char* weight, const char* name, std::int64_t outputs) {
    b.linear(weight, bias(name), Kind::attention, outputs, m.hidden_size, column);
  };
  project("layers.*.attention.query.weight", "layers.*.attention.query.bias", query);
  b.vector("layers.*.attention.query_norm.weight", Kind::norm, width);
  if (!kind.shares_keys) {
    b.vector("layers.*.attention.key_norm.weight", Kind::norm, width);
    project("layers.*.attention.key.weight", "layers.*.attention.key.bias", key);
    if (!m.attention_k_eq_v || kind.type == LayerType::sliding_attention)
      project("layers.*.attention.value.weight", "layers.*.attention.value.bias", key);
  }
  b.linear("layers.*.attention.output.weight", m.attention_output_bias ? "layers.*.attention.output.bias" : nullptr,
           Kind::attention, m.hidden_size, query, row);
}

void experts(ParameterBuilder& b) {
  const Model& m = b.model;
  const Experts& e = m.experts;
  b.vector("layers.*.router.scale", Kind::router, m.hidden_size);
  b.vector("layers.*.router.expert_scale", Kind::router, e.num_experts);
  b.linear("layers.*.router.weight", nullptr, Kind::router, e.num_experts, m.hidden_size, replicated);
  b.stack("layers.*.experts.gate_up.weight", e.num_experts, 2 * e.moe_intermediate_size, m.hidden_size);
  b.stack("layers.*.experts.down.weight", e.num_experts, m.hidden_size, e.moe_intermediate_size);
  for (const char* norm :
       {"layers.*.mlp_branch_norm.weight", "layers.*.experts_output_norm.weight", "layers.*.experts_norm.weight"})
    b.vector(norm, Kind::norm, m.hidden_size);
}

/// MLP and norms.
void after_attention(ParameterBuilder& b, std::int64_t inner) {
  const std::int64_t h = b.model.hidden_size;
  b.linear("layers.*.mlp.gate.weight", nullptr, Kind::mlp, inner, h, column);
  b.linear("layers.*.mlp.up.weight", nullptr, Kind::mlp, inner, h, column);
  b.linear("layers.*.mlp.down.weight", nullptr, Kind::mlp, h, inner, row);
  for (const char* norm : {"layers.*.attention_norm.weight", "layers.*.attention_output_norm.weight",
                           "layers.*.mlp_norm.weight", "layers.*.mlp_output_norm.weight"})
    b.vector(norm, Kind::norm, h);
}

void layer_embedding(ParameterBuilder& b) {
  const std::int64_t h = b.model.hidden_size;
  const std::int64_t width = b.model.hidden_size_per_layer_input;
  b.linear("layers.*.embedding.gate.weight", nullptr, Kind::mlp, width, h, replicated);
  b.linear("layers.*.embedding.output.weight", nullptr, Kind::mlp, h, width, replicated);
  b.vector("layers.*.embedding.norm.weight", Kind::norm, h);
}

}  // namespace

void append_gemma4_layer(ParameterBuilder& b, LayerKind kind) {
  const Model& m = b.model;
  attention(b, kind);
  after_attention(b, m.intermediate_size * (kind.shares_keys && m.use_double_wide_mlp ? 2 : 1));
  if (m.hidden_size_per_layer_input > 0) layer_embedding(b);
  if (kind.experts) experts(b);
}

void append_gemma3n_layer(ParameterBuilder& b, LayerKind kind) {
  const Model& m = b.model;
  const std::int64_t h = m.hidden_size;
  const std::int64_t streams = m.altup_num_inputs;
  attention(b, kind);
  after_attention(b, m.intermediate_size);
  b.vector("layers.*.altup.output_scale", Kind::norm, h);
  b.linear("layers.*.altup.correction.weight", nullptr, Kind::mlp, streams, streams, replicated);
  b.linear("layers.*.altup.prediction.weight", nullptr, Kind::mlp, streams * streams, streams, replicated);
  b.linear("layers.*.altup.router.weight", nullptr, Kind::mlp, streams, h, replicated);
  b.vector("layers.*.altup.norm.weight", Kind::norm, h);
  b.linear("layers.*.laurel.left.weight", nullptr, Kind::mlp, m.laurel_rank, h, replicated);
  b.linear("layers.*.laurel.right.weight", nullptr, Kind::mlp, h, m.laurel_rank, replicated);
  b.vector("layers.*.laurel.norm.weight", Kind::norm, h);
  layer_embedding(b);
}

void append_stream_projections(ParameterBuilder& b) {
  const std::int64_t h = b.model.hidden_size;
  for (const char* name : {"streams.in.weight", "streams.out.weight"})
    for (std::int64_t i = 1; i < b.model.altup_num_inputs; ++i)
      b.linear(name, nullptr, Kind::embedding, h, h, replicated);
}

void append_layer_embeddings(ParameterBuilder& b) {
  const Model& m = b.model;
  const std::int64_t width = m.hidden_size_per_layer_input;
  const std::int64_t together = m.num_hidden_layers * width;
  b.matrix("layer_embeddings.weight", Kind::embedding, m.vocab_size_per_layer_input, together);
  b.linear("layer_embeddings.projection.weight", nullptr, Kind::embedding, together, m.hidden_size, replicated);
  b.vector("layer_embeddings.norm.weight", Kind::norm, width);
}

}  // namespace trainmem
