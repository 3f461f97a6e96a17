// The parameter tensors of what mixes tokens without softmax: lightning attention, short convolutions, Mamba, gated
// delta networks.
#include "engine/parameters/builder.h"

namespace trainmem {
namespace {

using Kind = ParameterKind;

constexpr ParameterSplit column = ParameterSplit::column;
constexpr ParameterSplit row = ParameterSplit::row;
constexpr ParameterSplit replicated = ParameterSplit::replicated;

/// Lightning attention of MiniMax-01: norm, fused projection, output, output gate.
void linear_attention(ParameterBuilder& b) {
  const std::int64_t h = b.model.hidden_size;
  const std::int64_t width = b.model.num_attention_heads * b.model.head_dim;
  b.vector("layers.*.attention.norm.weight", Kind::norm, width);
  b.linear("layers.*.attention.query_key_value.weight", nullptr, Kind::attention, 3 * width, h, column);
  b.linear("layers.*.attention.output.weight", nullptr, Kind::attention, h, width, row);
  b.linear("layers.*.attention.output_gate.weight", nullptr, Kind::attention, width, h, column);
}

/// LFM2's convolution of each channel, between two projections.
void short_convolution(ParameterBuilder& b) {
  const Model& m = b.model;
  const std::int64_t h = m.hidden_size;
  const auto bias = [&](const char* name) { return m.conv_bias ? name : nullptr; };
  b.matrix("layers.*.convolution.weight", Kind::attention, h, m.conv_kernel_size);
  if (m.conv_bias) b.vector("layers.*.convolution.bias", Kind::attention, h);
  b.linear("layers.*.convolution.input.weight", bias("layers.*.convolution.input.bias"), Kind::attention, 3 * h, h,
           replicated);
  b.linear("layers.*.convolution.output.weight", bias("layers.*.convolution.output.bias"), Kind::attention, h, h,
           replicated);
}

/// The first Mamba.
void mamba1(ParameterBuilder& b) {
  const Model& m = b.model;
  const std::int64_t width = m.mamba.n_heads;
  const std::int64_t rank = m.mamba.time_step_rank;
  const auto linear = [&](const char* name, const char* bias, std::int64_t outputs, std::int64_t inputs) {
    b.linear(name, bias, Kind::attention, outputs, inputs, replicated);
  };
  const auto bias = [&](const char* name) { return m.mamba.proj_bias ? name : nullptr; };
  b.matrix("layers.*.mamba.A_log", Kind::attention, width, m.mamba.d_state);
  b.vector("layers.*.mamba.D", Kind::attention, width);
  b.convolution("layers.*.mamba.convolution.weight", Kind::attention, width, m.mamba.d_conv);
  if (m.mamba.conv_bias) b.vector("layers.*.mamba.convolution.bias", Kind::attention, width);
  linear("layers.*.mamba.input.weight", bias("layers.*.mamba.input.bias"), 2 * width, m.hidden_size);
  linear("layers.*.mamba.factors.weight", nullptr, rank + 2 * m.mamba.d_state, width);
  linear("layers.*.mamba.step.weight", "layers.*.mamba.step.bias", width, rank);
  linear("layers.*.mamba.output.weight", bias("layers.*.mamba.output.bias"), m.hidden_size, width);
  if (m.model_type != "jamba") return;
  b.vector("layers.*.mamba.step_norm.weight", Kind::norm, rank);
  b.vector("layers.*.mamba.B_norm.weight", Kind::norm, m.mamba.d_state);
  b.vector("layers.*.mamba.C_norm.weight", Kind::norm, m.mamba.d_state);
}

/// Mamba 2. Parameters of a module itself come before those of the modules within.
void mamba(ParameterBuilder& b) {
  const Model& m = b.model;
  if (m.mamba.time_step_rank > 0) return mamba1(b);
  const std::int64_t heads = m.mamba.n_heads;
  const std::int64_t width = heads * m.mamba.d_head;
  const std::int64_t channels = width + 2 * m.mamba.n_groups * m.mamba.d_state;
  const auto bias = [&](const char* name) { return m.mamba.proj_bias ? name : nullptr; };
  b.vector("layers.*.mamba.dt_bias", Kind::attention, heads);
  b.vector("layers.*.mamba.A_log", Kind::attention, heads);
  b.vector("layers.*.mamba.D", Kind::attention, heads);
  b.matrix("layers.*.mamba.convolution.weight", Kind::attention, channels, m.mamba.d_conv);
  if (m.mamba.conv_bias) b.vector("layers.*.mamba.convolution.bias", Kind::attention, channels);
  b.linear("layers.*.mamba.input.weight", bias("layers.*.mamba.input.bias"), Kind::attention, width + channels + heads,
           m.hidden_size, replicated);
  if (m.mamba.gated_norm) b.vector("layers.*.mamba.norm.weight", Kind::norm, width);
  b.linear("layers.*.mamba.output.weight", bias("layers.*.mamba.output.bias"), Kind::attention, m.hidden_size, width,
           replicated);
}

/// Gated delta network of Qwen3-Next, whose projections are joined, and Qwen3.5.
void gated_delta_net(ParameterBuilder& b) {
  const LinearAttention& l = b.model.linear_attention;
  const std::int64_t h = b.model.hidden_size;
  const std::int64_t heads = l.linear_num_value_heads;
  const std::int64_t values = heads * l.linear_value_head_dim;
  const std::int64_t channels = 2 * l.linear_num_key_heads * l.linear_key_head_dim + values;
  const auto projection = [&](const char* name, std::int64_t outputs) {
    b.linear(name, nullptr, Kind::attention, outputs, h, replicated);
  };
  const bool joined = b.model.model_type == "qwen3_next";
  b.vector("layers.*.attention.decay_bias", Kind::attention, heads);
  b.vector("layers.*.attention.decay_scale", Kind::attention, heads);
  b.convolution("layers.*.attention.convolution.weight", Kind::attention, channels, l.linear_conv_kernel_dim);
  if (joined) {
    projection("layers.*.attention.query_key_value_gate.weight", channels + values);
    projection("layers.*.attention.beta_decay.weight", 2 * heads);
  }
  b.vector("layers.*.attention.norm.weight", Kind::norm, l.linear_value_head_dim);
  b.linear("layers.*.attention.output.weight", nullptr, Kind::attention, h, values, replicated);
  if (joined) return;
  projection("layers.*.attention.query_key_value.weight", channels);
  projection("layers.*.attention.output_gate.weight", values);
  projection("layers.*.attention.beta.weight", heads);
  projection("layers.*.attention.decay.weight", heads);
}

/// The same of OLMo hybrid, each projection by itself.
void separate_delta_net(ParameterBuilder& b) {
  const LinearAttention& l = b.model.linear_attention;
  const std::int64_t h = b.model.hidden_size;
  const std::int64_t heads = l.linear_num_value_heads;
  const std::int64_t keys = l.linear_num_key_heads * l.linear_key_head_dim;
  const std::int64_t values = heads * l.linear_value_head_dim;
  const auto linear = [&](const char* name, std::int64_t outputs, std::int64_t inputs) {
    b.linear(name, nullptr, Kind::attention, outputs, inputs, replicated);
  };
  b.vector("layers.*.attention.decay_scale", Kind::attention, heads);
  b.vector("layers.*.attention.decay_bias", Kind::attention, heads);
  linear("layers.*.attention.query.weight", keys, h);
  linear("layers.*.attention.key.weight", keys, h);
  linear("layers.*.attention.value.weight", values, h);
  linear("layers.*.attention.decay.weight", heads, h);
  linear("layers.*.attention.beta.weight", heads, h);
  linear("layers.*.attention.output_gate.weight", values, h);
  linear("layers.*.attention.output.weight", h, values);
  b.convolution("layers.*.attention.convolution.weight", Kind::attention, 2 * keys + values, l.linear_conv_kernel_dim);
  b.vector("layers.*.attention.norm.weight", Kind::norm, l.linear_value_head_dim);
}

}  // namespace

bool append_mixer(ParameterBuilder& b, LayerType type) {
  switch (type) {
    case LayerType::conv: short_convolution(b); return true;
    case LayerType::mamba: mamba(b); return true;
    case LayerType::hybrid: mamba(b); return false;
    case LayerType::linear_attention:
      if (b.model.model_type == "olmo_hybrid") {
        separate_delta_net(b);
      } else if (b.model.model_type == "recurrent_gemma") {
        append_gated_recurrence(b);
      } else if (b.model.linear_attention.linear_num_key_heads > 0) {
        gated_delta_net(b);
      } else {
        linear_attention(b);
      }
      return true;
    default: return false;
  }
}

}  // namespace trainmem
