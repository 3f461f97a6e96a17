// Attention of Gemma 4: heads of another size in layers without a window, values normalised without a weight, keys and
// values that later layers take.
#include <utility>

#include "engine/blocks/transformers/gemma4.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

/// Whether the layer that is made is the last of its kind with keys and values of its own. Layers that stand for others
/// are told apart by their places, not by what they are made like.
bool is_last_of_kind(const Model& m, LayerType type) {
  const std::int64_t own = m.num_hidden_layers.recorded() - m.num_kv_shared_layers;
  for (std::int64_t later = active_run().layer + 1; later < own; ++later)
    if (layer_type(m, later) == type) return false;
  return true;
}

/// (b, s, heads * d) seen as (b, s, heads, d).
Tensor heads_apart(Tensor x, const Size& d) {
  const Shape shape{x.size(0), x.size(1), x.size(2) / d, d};
  return view(std::move(x), shape);
}

/// apply_rotary_pos_emb of (b, s, heads, d).
Tensor turned(Tensor argument, const BlockInputs& inputs) {
  const Tensor x = std::move(argument);
  return rotate(x, unsqueeze(inputs.cos, 2), unsqueeze(inputs.sin, 2));
}

/// Keys of the widest heads that kernels take grouped (integrations/sdpa_attention.py: use_gqa_in_sdpa).
constexpr std::int64_t widest_grouped_head = 256;

}  // namespace

Gemma4Attention::Gemma4Attention(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
    : model_(m),
      type_(layer_type(m, layer)),
      shares_(shares_keys(m, layer)),
      stores_(!shares_ && is_last_of_kind(m, type_)),
      head_dim_(head_dim_of(m, type_)) {
  const Size h = m.hidden_size;
  const Size query = Size(m.num_attention_heads) * head_dim_;
  const Size key = key_value_heads_of(m, type_) * head_dim_;
  query_ = Linear(h, query, m.attention_bias, dtype, "query");
  query_norm_ = NormLayer(form.norm, {head_dim_}, true, false, dtype);
  if (!shares_) {
    key_norm_ = NormLayer(form.norm, {head_dim_}, true, false, dtype);
    value_norm_ = NormLayer(form.norm, {head_dim_}, false, false, dtype);
    key_ = Linear(h, key, m.attention_bias, dtype, "key");
    if (!m.attention_k_eq_v || type_ == LayerType::sliding_attention)
      value_ = Linear(h, key, m.attention_bias, dtype, "value");
  }
  output_ = Linear(query, h, m.attention_output_bias, dtype, "attention projection");
}

SharedKeys::Pair& Gemma4Attention::shared(const BlockInputs& inputs) const {
  return type_ == LayerType::sliding_attention ? inputs.shared_keys->sliding : inputs.shared_keys->full;
}

SharedKeys::Pair Gemma4Attention::keys_and_values(const Tensor& hidden, const BlockInputs& inputs) const {
  if (shares_) return shared(inputs);
  Tensor key = heads_apart(key_(hidden), head_dim_);
  Tensor value = value_.role != nullptr ? heads_apart(value_(hidden), head_dim_) : key;
  key = key_norm_(key);
  key = turned(key, inputs);
  key = transpose(std::move(key), 1, 2);
  value = value_norm_(value);
  value = transpose(std::move(value), 1, 2);
  if (stores_) shared(inputs) = {key, value};
  return {std::move(key), std::move(value)};
}

Tensor Gemma4Attention::operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
  const Place place("attention");
  Tensor query = heads_apart(query_(hidden), head_dim_);
  query = query_norm_(query);
  query = turned(query, inputs);
  query = transpose(std::move(query), 1, 2);
  const SharedKeys::Pair own = keys_and_values(hidden, inputs);
  AttentionOptions options;
  options.dropout = model_.attention_dropout;
  options.repeated_heads = inputs.repeated_heads || head_dim_ > widest_grouped_head;
  options.window = type_ == LayerType::sliding_attention ? model_.sliding_window : 0;
  Tensor out = attention(query, own.key, own.value, inputs.mask, inputs.attention, options, weights);
  out = reshape(std::move(out), {hidden.size(0), hidden.size(1), query.size(1) * head_dim_});
  return output_(std::move(out));
}

}  // namespace trainmem::transformers
