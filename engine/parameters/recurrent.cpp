// The parameter tensors of layers of recurrent models: RWKV's, RecurrentGemma's, Zamba2's.
#include "engine/parameters/builder.h"

namespace trainmem {
namespace {

using Kind = ParameterKind;

constexpr ParameterSplit replicated = ParameterSplit::replicated;

/// How a token is mixed with the one before it: one number for each channel.
void time_mix(ParameterBuilder& b, const char* name) {
  ParameterTensor& tensor = b.matrix(name, Kind::attention, 1, 1);
  tensor.shape = {1, 1, b.model.hidden_size};
  tensor.rank = 3;
}

}  // namespace

// models/rwkv/modeling_rwkv.py: RwkvBlock. Parameters of a module itself come before those of the modules within.
void append_rwkv_layer(ParameterBuilder& b, LayerKind kind) {
  const std::int64_t h = b.model.hidden_size;
  const std::int64_t inner = b.model.intermediate_size;
  const auto linear = [&](const char* name, Kind what, std::int64_t outputs, std::int64_t inputs) {
    b.linear(name, nullptr, what, outputs, inputs, replicated);
  };
  if (kind.first) b.norm("layers.*.first_norm.weight", "layers.*.first_norm.bias");
  b.norm("layers.*.attention_norm.weight", "layers.*.attention_norm.bias");
  b.norm("layers.*.mlp_norm.weight", "layers.*.mlp_norm.bias");
  b.vector("layers.*.attention.time_decay", Kind::attention, h);
  b.vector("layers.*.attention.time_first", Kind::attention, h);
  time_mix(b, "layers.*.attention.key_mix");
  time_mix(b, "layers.*.attention.value_mix");
  time_mix(b, "layers.*.attention.receptance_mix");
  linear("layers.*.attention.key.weight", Kind::attention, h, h);
  linear("layers.*.attention.value.weight", Kind::attention, h, h);
  linear("layers.*.attention.receptance.weight", Kind::attention, h, h);
  linear("layers.*.attention.output.weight", Kind::attention, h, h);
  time_mix(b, "layers.*.mlp.key_mix");
  time_mix(b, "layers.*.mlp.receptance_mix");
  linear("layers.*.mlp.up.weight", Kind::mlp, inner, h);
  linear("layers.*.mlp.receptance.weight", Kind::mlp, h, h);
  linear("layers.*.mlp.down.weight", Kind::mlp, h, inner);
}

// models/recurrent_gemma/modeling_recurrent_gemma.py: RecurrentGemmaRecurrentBlock, which stands in attention's place.
void append_gated_recurrence(ParameterBuilder& b) {
  const Model& m = b.model;
  const std::int64_t h = m.hidden_size;
  const std::int64_t heads = m.num_attention_heads;
  const auto linear = [&](const char* weight, const char* bias) {
    b.linear(weight, bias, Kind::attention, h, h, replicated);
  };
  linear("layers.*.recurrence.gate.weight", "layers.*.recurrence.gate.bias");
  linear("layers.*.recurrence.input.weight", "layers.*.recurrence.input.bias");
  linear("layers.*.recurrence.output.weight", "layers.*.recurrence.output.bias");
  b.convolution("layers.*.recurrence.convolution.weight", Kind::attention, h, m.conv_kernel_size);
  b.vector("layers.*.recurrence.convolution.bias", Kind::attention, h);
  b.vector("layers.*.recurrence.decay", Kind::attention, h);
  const auto gate = [&](const char* weight, const char* bias) {
    ParameterTensor& tensor = b.matrix(weight, Kind::attention, heads, h / heads);
    tensor.shape = {heads, h / heads, h / heads};
    tensor.rank = 3;
    b.matrix(bias, Kind::attention, heads, h / heads);
  };
  gate("layers.*.recurrence.input_gate.weight", "layers.*.recurrence.input_gate.bias");
  gate("layers.*.recurrence.recurrent_gate.weight", "layers.*.recurrence.recurrent_gate.bias");
}

// models/zamba2/modeling_zamba2.py: Zamba2MambaDecoderLayer, Zamba2HybridLayer. The first users of the shared blocks
// have their tensors, and the side branches of all users.
void append_zamba2_layer(ParameterBuilder& b, LayerKind kind) {
  const Model& m = b.model;
  const std::int64_t h = m.hidden_size;
  const std::int64_t wide = 2 * h;
  const std::int64_t inner = m.intermediate_size;
  const auto linear = [&](const char* name, Kind what, std::int64_t outputs, std::int64_t inputs) {
    b.linear(name, nullptr, what, outputs, inputs, replicated);
  };
  if (kind.type == LayerType::hybrid) linear("layers.*.side.weight", Kind::attention, h, h);
  append_mixer(b, LayerType::mamba);
  b.norm("layers.*.attention_norm.weight", "layers.*.attention_norm.bias");
  if (kind.shared_block < 0) return;
  const std::int64_t users = layers_before(m, LayerType::hybrid, m.num_hidden_layers);
  const auto sides = [&](const char* down, const char* up, Kind what, std::int64_t inputs, std::int64_t outputs) {
    for (std::int64_t i = kind.shared_block; i < users; i += m.num_mem_blocks) {
      linear(down, what, m.adapter_rank, inputs);
      linear(up, what, outputs, m.adapter_rank);
    }
  };
  const std::int64_t queries = m.num_attention_heads * m.head_dim;
  const std::int64_t keys = m.num_key_value_heads * m.head_dim;
  linear("layers.*.attention.query.weight", Kind::attention, queries, wide);
  linear("layers.*.attention.key.weight", Kind::attention, keys, wide);
  linear("layers.*.attention.value.weight", Kind::attention, keys, wide);
  linear("layers.*.attention.output.weight", Kind::attention, h, queries);
  if (m.use_shared_attention_adapter) {
    sides("layers.*.attention.query_side.down.weight", "layers.*.attention.query_side.up.weight", Kind::attention, wide,
          wide);
    sides("layers.*.attention.key_side.down.weight", "layers.*.attention.key_side.up.weight", Kind::attention, wide,
          wide);
    sides("layers.*.attention.value_side.down.weight", "layers.*.attention.value_side.up.weight", Kind::attention, wide,
          wide);
  }
  const auto bias = [&](const char* name) { return m.mlp_bias ? name : nullptr; };
  b.linear("layers.*.mlp.gate_up.weight", bias("layers.*.mlp.gate_up.bias"), Kind::mlp, 2 * inner, h, replicated);
  b.linear("layers.*.mlp.down.weight", bias("layers.*.mlp.down.bias"), Kind::mlp, h, inner, replicated);
  sides("layers.*.mlp.gate_up_side.down.weight", "layers.*.mlp.gate_up_side.up.weight", Kind::mlp, h, 2 * inner);
  b.norm("layers.*.shared_norm.weight", "layers.*.shared_norm.bias", wide);
  b.norm("layers.*.mlp_norm.weight", "layers.*.mlp_norm.bias");
}

}  // namespace trainmem
