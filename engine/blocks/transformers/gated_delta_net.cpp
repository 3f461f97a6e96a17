// models/qwen3_next/modeling_qwen3_next.py: Qwen3NextGatedDeltaNet, models/qwen3_5/modeling_qwen3_5.py:
// Qwen3_5GatedDeltaNet, forward, with the kernels of flash-linear-attention and causal-conv1d or without.
#include "engine/blocks/transformers/gated_delta_net.h"

#include "engine/blocks/transformers/chunks.h"
#include "engine/blocks/transformers/delta_chunks.h"
#include "engine/blocks/transformers/padding.h"
#include "engine/tensor/convolution.h"
#include "engine/tensor/gated_delta_rule.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

bool has_gated_delta_net(const Model& m) {
  return m.model_type == "qwen3_next" || m.model_type == "qwen3_5_text" || m.model_type == "qwen3_5_moe_text" ||
         m.model_type == "olmo_hybrid";
}

GatedDeltaNet::GatedDeltaNet(const Model& m, DType dtype) : model_(m), together_(m.model_type == "qwen3_next") {
  const LinearAttention& l = m.linear_attention;
  const Size h = m.hidden_size;
  const Size heads = l.linear_num_value_heads;
  const Size keys = l.linear_num_key_heads * l.linear_key_head_dim;
  const Size values = l.linear_num_value_heads * l.linear_value_head_dim;
  const Size channels = Size(2) * keys + values;
  decay_bias_ = make_parameter({heads}, dtype, "decay bias");
  decay_scale_ = make_parameter({heads}, dtype, "decay scale");
  convolution_ = make_parameter({channels, 1, l.linear_conv_kernel_dim}, dtype, "convolution");
  const auto make_output = [&] {
    norm_ = make_parameter({l.linear_value_head_dim}, dtype, "norm");
    output_ = Linear(values, h, false, dtype, "linear attention projection");
  };
  if (together_) {
    query_key_value_ = Linear(h, channels + values, false, dtype, "query, key, value and output gate");
    rate_ = Linear(h, Size(2) * heads, false, dtype, "beta and decay");
    make_output();
    return;
  }
  make_output();
  query_key_value_ = Linear(h, channels, false, dtype, "query, key and value of linear attention");
  gate_ = Linear(h, values, false, dtype, "output gate");
  rate_ = Linear(h, heads, false, dtype, "beta");
  decay_ = Linear(h, heads, false, dtype, "decay");
}

GatedDeltaNet::Projected GatedDeltaNet::project(const Tensor& hidden) const {
  const LinearAttention& l = model_.linear_attention;
  Projected result;
  result.mixed = query_key_value_(hidden);
  result.gate =
      view(gate_(hidden), {hidden.size(0), hidden.size(1), l.linear_num_value_heads, l.linear_value_head_dim});
  result.rate = rate_(hidden);
  result.decay = decay_(hidden);
  return result;
}

// fix_query_key_value_ordering: of each key head the query, the key, its values and their gates.
GatedDeltaNet::Projected GatedDeltaNet::project_together(const Tensor& hidden) const {
  const LinearAttention& l = model_.linear_attention;
  const Size b = hidden.size(0);
  const Size s = hidden.size(1);
  const Size key = l.linear_key_head_dim;
  const Size groups = l.linear_num_key_heads;
  const Size heads = l.linear_num_value_heads;
  const Size each = heads / groups;
  const Size value = each * Size(l.linear_value_head_dim);
  Projected result;
  result.held[0] = query_key_value_(hidden);
  result.held[1] = rate_(hidden);
  const Shape by_head{b, s, heads, l.linear_value_head_dim};
  Tensor together = view(result.held[0], {b, s, groups, Size(2) * (key + value)});
  std::vector<Tensor> parts = split(std::move(together), {key, key, value, value}, 3);
  const std::vector<Tensor> rates = split(view(result.held[1], {b, s, groups, Size(2) * each}), {each, each}, 3);
  const Tensor values = reshape(parts[2], by_head);
  result.gate = reshape(parts[3], by_head);
  result.rate = reshape(rates[0], {b, s, heads});
  result.decay = reshape(rates[1], {b, s, heads});
  result.parts[0] = reshape(parts[0], {b, s, groups * key});
  result.parts[1] = reshape(parts[1], {b, s, groups * key});
  result.parts[2] = reshape(values, {b, s, groups * value});
  result.mixed = concatenate({result.parts[0], result.parts[1], result.parts[2]}, -1, "query, key and value");
  return result;
}

Tensor mixed_with_neighbours(Tensor x, const Tensor& weight) {
  const Tensor taps = view(weight, {weight.size(0), weight.size(2)});
  if (active_run().settings.fused.fast_path) return causal_conv1d(std::move(x), taps, {});
  return causal_convolution(x, view(taps, weight.shape()), {});
}

Tensor gated_delta_rule(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& decay,
                        const Tensor& rate) {
  if (active_run().settings.fused.fast_path) return chunk_gated_delta_rule(query, key, value, decay, rate);
  return delta_rule_by_operations(query, key, value, decay, rate);
}

Tensor repeated_heads(Tensor x, const Size& times) {
  const Shape apart{x.size(0), x.size(1), x.size(2), times, x.size(3)};
  const Shape joined{x.size(0), x.size(1), x.size(2) * times, x.size(3)};
  return view(contiguous(expand(unsqueeze(std::move(x), 3), apart)), joined);
}

Tensor GatedDeltaNet::operator()(const Tensor& given, const BlockInputs&, Tensor&) const {
  const Place place("linear attention");
  const Tensor hidden = without_padding(given);
  const LinearAttention& l = model_.linear_attention;
  const Size b = hidden.size(0);
  const Size s = hidden.size(1);
  const Size heads = l.linear_num_value_heads;
  const Size groups = l.linear_num_key_heads;
  const Size keys = groups * l.linear_key_head_dim;
  const Size values = heads * l.linear_value_head_dim;
  Projected projected = together_ ? project_together(hidden) : project(hidden);
  Tensor mixed = transpose(std::move(projected.mixed), 1, 2);
  mixed = mixed_with_neighbours(std::move(mixed), convolution_);
  mixed = transpose(std::move(mixed), 1, 2);
  std::vector<Tensor> parts = split(mixed, {keys, keys, values}, -1);
  for (Tensor& part : projected.parts) part.reset();
  Tensor query = reshape(std::move(parts[0]), {b, s, groups, l.linear_key_head_dim});
  Tensor key = reshape(std::move(parts[1]), {b, s, groups, l.linear_key_head_dim});
  const Tensor value = reshape(std::move(parts[2]), {b, s, heads, l.linear_value_head_dim});
  const Tensor beta = sigmoid(projected.rate);
  Tensor decay = negate(exp(to(decay_scale_, DType::float32)));
  decay = multiply(std::move(decay), softplus(add(to(projected.decay, DType::float32), decay_bias_)));
  if (heads.value() > groups.value()) {
    query = repeated_heads(std::move(query), heads / groups);
    key = repeated_heads(std::move(key), heads / groups);
  }
  Tensor out = gated_delta_rule(query, key, value, decay, beta);
  const Size width = l.linear_value_head_dim;
  out = reshape(std::move(out), {b * s * heads, width});
  const Tensor gate = reshape(projected.gate, {b * s * heads, width});
  out = gated_norm_by_operations(out, gate, norm_);
  out = reshape(std::move(out), {b, s, values});
  return output_(std::move(out));
}

}  // namespace trainmem::transformers
