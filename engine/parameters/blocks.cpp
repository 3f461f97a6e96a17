// The parameter tensors of one layer: attention of every kind, MLP, routed experts, norms.
#include "engine/parameters/builder.h"
#include "engine/parameters/indexer.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

using Kind = ParameterKind;

constexpr ParameterSplit column = ParameterSplit::column;
constexpr ParameterSplit row = ParameterSplit::row;
constexpr ParameterSplit replicated = ParameterSplit::replicated;

void output_projection(ParameterBuilder& b, std::int64_t inputs) {
  b.linear("layers.*.attention.output.weight",
           b.model.attention_output_bias ? "layers.*.attention.output.bias" : nullptr, Kind::attention,
           b.model.hidden_size, inputs, row);
}

/// Multi-head latent attention. The down projections and their norms are whole on every tensor-parallel GPU.
void latent_attention(ParameterBuilder& b) {
  const Model& m = b.model;
  const LatentAttention& l = m.latent_attention;
  const std::int64_t heads = m.num_attention_heads;
  const std::int64_t query = heads * (l.qk_nope_head_dim + l.qk_rope_head_dim);
  const auto bias = [&](const char* name) { return m.attention_bias ? name : nullptr; };
  if (l.q_lora_rank > 0) {
    b.linear("layers.*.attention.query_down.weight", bias("layers.*.attention.query_down.bias"), Kind::attention,
             l.q_lora_rank, m.hidden_size, replicated);
    b.vector("layers.*.attention.query_down_norm.weight", Kind::norm, l.q_lora_rank);
    b.linear("layers.*.attention.query_up.weight", nullptr, Kind::attention, query, l.q_lora_rank, column);
  } else {
    b.linear("layers.*.attention.query.weight", nullptr, Kind::attention, query, m.hidden_size, column);
  }
  b.linear("layers.*.attention.key_value_down.weight", bias("layers.*.attention.key_value_down.bias"), Kind::attention,
           l.kv_lora_rank + l.qk_rope_head_dim, m.hidden_size, replicated);
  b.vector("layers.*.attention.key_value_down_norm.weight", Kind::norm, l.kv_lora_rank);
  b.linear("layers.*.attention.key_value_up.weight", nullptr, Kind::attention,
           heads * (l.qk_nope_head_dim + l.v_head_dim), l.kv_lora_rank, column);
  output_projection(b, heads * l.v_head_dim);
  const Indexer indexer = indexer_of(m.model_type);
  if (indexer.heads == 0) return;
  b.linear("layers.*.attention.indexer.query.weight", nullptr, Kind::attention, indexer.heads * indexer.head_dim,
           l.q_lora_rank, replicated);
  b.linear("layers.*.attention.indexer.key.weight", nullptr, Kind::attention, indexer.head_dim, m.hidden_size,
           replicated);
  b.vector("layers.*.attention.indexer.key_norm.weight", Kind::norm, indexer.head_dim);
  b.vector("layers.*.attention.indexer.key_norm.bias", Kind::norm, indexer.head_dim);
  b.linear("layers.*.attention.indexer.weights.weight", nullptr, Kind::attention, indexer.heads, m.hidden_size,
           replicated);
}

void query_key_value(ParameterBuilder& b, LayerType type) {
  const Model& m = b.model;
  const bool bias = m.attention_bias;
  const std::int64_t query = heads_of(m, type) * m.head_dim;
  const std::int64_t key = key_value_heads_of(m, type) * m.head_dim;
  const std::int64_t value = key_value_heads_of(m, type) * value_head_dim_of(m, type);
  const auto q = [&] {
    b.linear("layers.*.attention.query.weight", bias ? "layers.*.attention.query.bias" : nullptr, Kind::attention,
             b.layout.gated_attention ? 2 * query : query, m.hidden_size, column);
  };
  if (b.layout.fused_query_key_value) {
    b.linear("layers.*.attention.query_key_value.weight", bias ? "layers.*.attention.query_key_value.bias" : nullptr,
             Kind::attention, query + 2 * key, m.hidden_size, column);
    return;
  }
  if (!b.layout.query_last) q();
  b.linear("layers.*.attention.key.weight", bias ? "layers.*.attention.key.bias" : nullptr, Kind::attention, key,
           m.hidden_size, column);
  b.linear("layers.*.attention.value.weight", bias ? "layers.*.attention.value.bias" : nullptr, Kind::attention, value,
           m.hidden_size, column);
  if (b.layout.query_last) q();
}

/// One weight for a head (Qwen3, Gemma 3), or for every channel of all heads (OLMo 2, Command R+).
void query_key_norms(ParameterBuilder& b) {
  const Model& m = b.model;
  // Llama 4's norms, Muse Glimmer's and nanochat's have no weight.
  if (m.qk_norm == QkNorm::none || !m.norm_weight || has_item("llama4_text,muse_glimmer_text", m.model_type)) return;
  if (m.model_type == "stablelm") {  // a norm for each head
    for (std::int64_t i = 0; i < m.num_attention_heads; ++i)
      b.vector("layers.*.attention.query_norm.weight", Kind::norm, m.head_dim);
    for (std::int64_t i = 0; i < m.num_key_value_heads; ++i)
      b.vector("layers.*.attention.key_norm.weight", Kind::norm, m.head_dim);
    return;
  }
  const bool full = m.qk_norm == QkNorm::full;
  const auto norm = [&](const char* weight, const char* bias, std::int64_t heads) {
    ParameterTensor& tensor = b.vector(weight, Kind::norm, full ? heads * m.head_dim : m.head_dim);
    if (full) tensor.split = column, tensor.split_dimension = 0;
    if (m.norm_bias) b.vector(bias, Kind::norm, m.head_dim);  // Persimmon
  };
  norm("layers.*.attention.query_norm.weight", "layers.*.attention.query_norm.bias", m.num_attention_heads);
  norm("layers.*.attention.key_norm.weight", "layers.*.attention.key_norm.bias", m.num_key_value_heads);
}

/// models/jetmoe/modeling_jetmoe.py: JetMoeMoA and JetMoeMoE. `width`: of what the first matrices give.
void jetmoe_experts(ParameterBuilder& b, const char* const (&names)[4], std::int64_t width, std::int64_t inner) {
  const Experts& e = b.model.experts;
  b.vector(names[0], Kind::expert, b.model.hidden_size);
  b.stack(names[1], e.num_experts, width, b.model.hidden_size);
  b.stack(names[2], e.num_experts, b.model.hidden_size, inner);
  b.linear(names[3], nullptr, Kind::router, e.num_experts, b.model.hidden_size, replicated);
}

void jetmoe_attention(ParameterBuilder& b) {
  const std::int64_t width = b.model.num_key_value_heads * b.model.head_dim;
  jetmoe_experts(b,
                 {"layers.*.attention.experts.bias", "layers.*.attention.experts.input.weight",
                  "layers.*.attention.experts.output.weight", "layers.*.attention.router.weight"},
                 width, width);
  b.linear("layers.*.attention.key_value.weight", nullptr, Kind::attention, 2 * width, b.model.hidden_size, column);
}

void attention(ParameterBuilder& b, LayerType type) {
  const Model& m = b.model;
  if (m.model_type == "jetmoe") return jetmoe_attention(b);
  if (append_mixer(b, type)) return;
  if (m.latent_attention.kv_lora_rank > 0) return latent_attention(b);
  const std::int64_t heads = heads_of(m, type);
  if (m.model_type == "diffllama")
    for (int i = 0; i < 4; ++i) b.vector("layers.*.attention.lambda", Kind::attention, m.head_dim);
  if (has_sinks(m, type)) {
    ParameterTensor& sinks = b.vector("layers.*.attention.sinks", Kind::attention, heads);
    sinks.split = column, sinks.split_dimension = 0;
  }
  const std::int64_t width = heads * value_head_dim_of(m, type);
  if (b.layout.output_first) output_projection(b, width);
  query_key_value(b, type);
  if (!b.layout.output_first) output_projection(b, width);
  if (b.layout.sub_norms) b.vector("layers.*.attention.sub_norm.weight", Kind::norm, width);
  query_key_norms(b);
  if (b.layout.output_gate)
    b.linear("layers.*.attention.output_gate.weight", nullptr, Kind::attention, b.layout.gates_heads ? heads : width,
             m.hidden_size, column);
}

struct MlpNames {
  const char *gate, *up, *down, *gate_up;
};
constexpr MlpNames dense_names = {"layers.*.mlp.gate.weight", "layers.*.mlp.up.weight", "layers.*.mlp.down.weight",
                                  "layers.*.mlp.gate_up.weight"};
constexpr MlpNames shared_names = {"layers.*.shared_expert.gate.weight", "layers.*.shared_expert.up.weight",
                                   "layers.*.shared_expert.down.weight", "layers.*.shared_expert.gate_up.weight"};

void mlp(ParameterBuilder& b, const MlpNames& names, std::int64_t width, bool bias) {
  const Model& m = b.model;
  if (m.gated_mlp && b.layout.fused_gate_up) {
    b.linear(names.gate_up, bias ? "layers.*.mlp.gate_up.bias" : nullptr, Kind::mlp, 2 * width, m.hidden_size, column);
  } else {
    if (m.gated_mlp) {
      b.linear(names.gate, bias ? "layers.*.mlp.gate.bias" : nullptr, Kind::mlp, width, m.hidden_size, column);
    }
    b.linear(names.up, bias ? "layers.*.mlp.up.bias" : nullptr, Kind::mlp, width, m.hidden_size, column);
  }
  b.linear(names.down, bias ? "layers.*.mlp.down.bias" : nullptr, Kind::mlp, m.hidden_size, width, row);
  if (b.layout.sub_norms) b.vector("layers.*.mlp.sub_norm.weight", Kind::norm, width);
  if (m.hidden_act != Activation::xielu) return;
  b.vector("layers.*.mlp.activation.positive", Kind::mlp, 1);
  b.vector("layers.*.mlp.activation.negative", Kind::mlp, 1);
}

void router(ParameterBuilder& b) {
  const Experts& e = b.model.experts;
  b.linear("layers.*.router.weight", nullptr, Kind::router, e.num_experts, b.model.hidden_size, replicated);
  if (!e.router_bias) return;
  // gpt-oss learns its router's bias; elsewhere it is the correction that balances the load without a gradient.
  ParameterTensor& bias = b.vector("layers.*.router.bias", Kind::router, e.num_experts);
  bias.trainable = b.model.model_type == "gpt_oss";
}

/// All routed experts of a layer in stacks: (experts, outputs, inputs), or turned where the class has them so.
void routed_experts(ParameterBuilder& b) {
  const Model& m = b.model;
  const Experts& e = m.experts;
  const std::int64_t width = e.moe_intermediate_size;
  const std::int64_t up = m.gated_mlp ? 2 * width : width;
  const auto split = [](ParameterTensor& tensor, ParameterSplit how, int dimension) {
    tensor.split = how;
    tensor.split_dimension = static_cast<std::int8_t>(dimension);
  };
  if (b.layout.flat_experts) {  // DBRX: w1, v1, w2, each (experts * width, hidden)
    for (const char* name :
         {"layers.*.experts.gate.weight", "layers.*.experts.up.weight", "layers.*.experts.down.weight"}) {
      ParameterTensor& tensor = b.matrix(name, Kind::expert, e.num_experts * width, m.hidden_size);
      tensor.routed_expert = true;
    }
    return;
  }
  const bool turned = b.layout.turned_experts;
  const std::int64_t hidden = e.moe_latent_size > 0 ? e.moe_latent_size : m.hidden_size.value();
  split(b.stack("layers.*.experts.gate_up.weight", e.num_experts, turned ? hidden : up, turned ? up : hidden), column,
        turned ? 2 : 1);
  if (e.expert_bias) {
    ParameterTensor& bias = b.matrix("layers.*.experts.gate_up.bias", Kind::expert, e.num_experts, up);
    bias.routed_expert = true;
    split(bias, column, 1);
  }
  split(b.stack("layers.*.experts.down.weight", e.num_experts, turned ? width : hidden, turned ? hidden : width), row,
        turned ? 1 : 2);
  if (e.expert_bias) {
    b.matrix("layers.*.experts.down.bias", Kind::expert, e.num_experts, hidden).routed_expert = true;
  }
}

void experts(ParameterBuilder& b) {
  const Experts& e = b.model.experts;
  if (b.model.model_type == "jetmoe")
    return jetmoe_experts(b,
                          {"layers.*.experts.bias", "layers.*.experts.input.weight", "layers.*.experts.output.weight",
                           "layers.*.router.weight"},
                          2 * e.moe_intermediate_size, e.moe_intermediate_size);
  const auto shared = [&] {
    if (e.n_shared_experts > 0) mlp(b, shared_names, shared_expert_width(b.model), b.model.mlp_bias);
  };
  if (!b.layout.router_after_experts) router(b);
  if (b.layout.shared_before_experts) shared();
  routed_experts(b);
  if (b.layout.router_after_experts) router(b);
  if (!b.layout.shared_before_experts) shared();
  if (b.layout.norm_of_experts) b.norm("layers.*.experts_norm.weight", "layers.*.experts_norm.bias");
  if (e.moe_latent_size > 0) {
    const auto bias = [&](const char* name) { return b.model.mlp_bias ? name : nullptr; };
    b.linear("layers.*.experts.into_latent.weight", bias("layers.*.experts.into_latent.bias"), Kind::mlp,
             e.moe_latent_size, b.model.hidden_size, replicated);
    b.linear("layers.*.experts.out_of_latent.weight", bias("layers.*.experts.out_of_latent.bias"), Kind::mlp,
             b.model.hidden_size, e.moe_latent_size, replicated);
  }
  if (e.shared_expert_gate) {
    b.linear("layers.*.shared_expert_gate.weight", nullptr, Kind::router, 1, b.model.hidden_size, replicated);
  }
}

void attention_norm(ParameterBuilder& b) { b.norm("layers.*.attention_norm.weight", "layers.*.attention_norm.bias"); }
void mlp_norm(ParameterBuilder& b) {
  if (b.model.norms_per_layer >= 2) b.norm("layers.*.mlp_norm.weight", "layers.*.mlp_norm.bias");
}

/// Norms registered after attention and MLP, as in Llama; Gemma 2 has one before and one after each.
void trailing_norms(ParameterBuilder& b) {
  const auto attention_output = [&] {
    b.norm("layers.*.attention_output_norm.weight", "layers.*.attention_output_norm.bias");
  };
  const auto mlp_output = [&] { b.norm("layers.*.mlp_output_norm.weight", "layers.*.mlp_output_norm.bias"); };
  if (b.layout.norms_on_outputs) {
    attention_output();
    mlp_output();
  } else {
    attention_norm(b);
    if (b.model.norms_per_layer == 4) attention_output();
    mlp_norm(b);
    if (b.model.norms_per_layer == 4) mlp_output();
  }
}

}  // namespace

void append_layer(ParameterBuilder& b, LayerKind kind) {
  if (b.model.model_type == "gemma4_text") return append_gemma4_layer(b, kind);
  if (b.model.model_type == "gemma3n_text") return append_gemma3n_layer(b, kind);
  if (b.model.model_type == "rwkv") return append_rwkv_layer(b, kind);
  if (b.model.model_type == "zamba2") return append_zamba2_layer(b, kind);
  const auto feed_forward = [&] {
    if (kind.experts) return experts(b);
    mlp(b, dense_names, b.model.intermediate_size, b.model.mlp_bias);
  };
  if (kind.type == LayerType::hybrid ||
      (b.model.model_type == "olmo_hybrid" && kind.type == LayerType::linear_attention)) {
    // Falcon-H1: MLP, Mamba, attention, norms. OLMo hybrid's delta networks stand last.
    feed_forward();
    if (kind.type == LayerType::hybrid) attention(b, kind.type);
    trailing_norms(b);
    if (kind.type != LayerType::hybrid) attention(b, kind.type);
    return;
  }
  switch (b.layout.norms) {
    case NormRegistration::after:
      attention(b, kind.type);
      feed_forward();
      return trailing_norms(b);
    case NormRegistration::between:
      attention(b, kind.type);
      trailing_norms(b);
      return feed_forward();
    case NormRegistration::before_each:
      if (!(kind.first && b.model.model_type == "modernbert-decoder")) attention_norm(b);
      attention(b, kind.type);
      mlp_norm(b);
      return feed_forward();
    case NormRegistration::first:
      attention_norm(b);
      mlp_norm(b);
      if (b.model.model_type == "granitemoehybrid") {
        feed_forward();
        return attention(b, kind.type);
      }
      attention(b, kind.type);
      return feed_forward();
    case NormRegistration::mixer_last:
      feed_forward();
      trailing_norms(b);
      return attention(b, kind.type);
    case NormRegistration::one:
      attention_norm(b);
      if (kind.type == LayerType::mlp || kind.type == LayerType::moe) return feed_forward();
      return attention(b, kind.type);
    case NormRegistration::after_each:
      attention(b, kind.type);
      attention_norm(b);
      feed_forward();
      return mlp_norm(b);
  }
}

}  // namespace trainmem
