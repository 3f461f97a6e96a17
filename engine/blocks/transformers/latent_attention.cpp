#include "engine/blocks/transformers/latent_attention.h"

#include "engine/tensor/write_columns.h"

namespace trainmem::transformers {

LatentSelfAttention::LatentSelfAttention(const Model& m, const LlamaForm& form, DType dtype) : model_(m), form_(form) {
  const LatentAttention& l = m.latent_attention;
  const Size h = m.hidden_size;
  const Size heads = m.num_attention_heads;
  const Size query_width = heads * Size(l.qk_nope_head_dim + l.qk_rope_head_dim);
  if (l.q_lora_rank > 0) {
    query_down_ = Linear(h, l.q_lora_rank, m.attention_bias, dtype, "query down");
    query_norm_ = NormLayer(form.norm, {l.q_lora_rank}, true, false, dtype);
    query_up_ = Linear(l.q_lora_rank, query_width, false, dtype, "query");
  } else {
    query_ = Linear(h, query_width, false, dtype, "query");
  }
  key_value_down_ = Linear(h, l.kv_lora_rank + l.qk_rope_head_dim, m.attention_bias, dtype, "key and value down");
  key_value_norm_ = NormLayer(form.norm, {l.kv_lora_rank}, true, false, dtype);
  key_value_up_ =
      Linear(l.kv_lora_rank, heads * Size(l.qk_nope_head_dim + l.v_head_dim), false, dtype, "key and value");
  output_ = Linear(heads * Size(l.v_head_dim), h, m.attention_output_bias, dtype, "attention projection");
  if (indexer_of(m.model_type).heads > 0) indexer_.emplace(m, dtype);
}

Tensor LatentSelfAttention::query(const Tensor& hidden, Tensor& latent) const {
  if (model_.latent_attention.q_lora_rank == 0) return query_(hidden);
  Tensor down = query_down_(hidden);
  Tensor normed = query_norm_(std::move(down));
  if (indexer_) latent = normed;
  return query_up_(std::move(normed));
}

void LatentSelfAttention::turn(Tensor& q, Tensor& k, const BlockInputs& inputs) const {
  switch (form_.turning) {
    case LlamaForm::Turning::complex: return apply_rotary_complex(q, k, inputs.cos);
    case LlamaForm::Turning::even_and_odd: return apply_rotary_even_and_odd(q, k, inputs.cos, inputs.sin);
    default: return apply_rotary(q, k, inputs.cos, inputs.sin);
  }
}

// models/deepseek_v2 and deepseek_v3, modeling_*.py: forward of the attention.
Tensor LatentSelfAttention::operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
  const Place place("attention");
  const LatentAttention& l = model_.latent_attention;
  const Size heads = model_.num_attention_heads;
  const Size b = hidden.size(0);
  const Size s = hidden.size(1);
  const Size nope = l.qk_nope_head_dim;
  const Size rope = l.qk_rope_head_dim;
  Tensor latent;
  const Tensor q = split_heads(query(hidden, latent), heads, nope + rope);
  const std::vector<Tensor> q_parts = split(q, {nope, rope}, -1);
  const Tensor compressed = key_value_down_(hidden);
  const std::vector<Tensor> compressed_parts = split(compressed, {l.kv_lora_rank, rope}, -1);
  if (form_.keys_in_place) {
    const Tensor normed = view(key_value_norm_(compressed_parts[0]), {b, 1, s, l.kv_lora_rank});
    Tensor q_turned = q_parts[1];
    Tensor k_turned = view(compressed_parts[1], {b, 1, s, rope});
    turn(q_turned, k_turned, inputs);
    Tensor full_query = concatenate({q_parts[0], q_turned}, -1, "query");
    if (form_.scaled_queries) full_query = scaled_by_position(std::move(full_query));
    const std::vector<Tensor> key_and_value = expanded(normed, k_turned);
    const Tensor& key = key_and_value[0];
    const Tensor& value = key_and_value[1];
    if (!indexer_) return attend(full_query, key, value, inputs.mask, inputs.attention, weights);
    const Tensor chosen = (*indexer_)(hidden, latent, inputs);
    const SparseMask sparse = sparse_mask(chosen, hidden, inputs);
    Tensor out = attend(full_query, key, value, sparse.mask, inputs.attention, weights);
    if (indexer_of(model_.model_type).returns_choice) weights = chosen;
    return out;
  }
  std::vector<Tensor> k_parts;
  {
    Tensor normed = key_value_norm_(compressed_parts[0]);
    Tensor expanded = split_heads(key_value_up_(std::move(normed)), heads, nope + Size(l.v_head_dim));
    k_parts = split(std::move(expanded), {nope, l.v_head_dim}, -1);
  }
  Tensor q_turned = q_parts[1];
  Tensor k_turned = view(compressed_parts[1], {b, 1, s, rope});
  turn(q_turned, k_turned, inputs);
  k_turned = expand(std::move(k_turned), {b, heads, s, rope});
  const Tensor full_query = concatenate({q_parts[0], q_turned}, -1, "query");
  const Tensor full_key = concatenate({k_parts[0], k_turned}, -1, "key");
  return attend(full_query, full_key, k_parts[1], inputs.mask, inputs.attention, weights);
}

Tensor LatentSelfAttention::attend(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                   AttentionKernel kernel, Tensor& weights) const {
  AttentionOptions options;
  options.dropout = model_.attention_dropout;
  Tensor out = attention(query, key, value, mask, kernel, options, weights);
  return output_(reshape(std::move(out), {query.size(0), query.size(2), value.size(1) * value.size(3)}));
}

// models/youtu/modeling_youtu.py: YoutuAttention.expand_kv.
std::vector<Tensor> LatentSelfAttention::expanded(const Tensor& latent, const Tensor& turned) const {
  const LatentAttention& l = model_.latent_attention;
  const Size heads = model_.num_attention_heads;
  const Size nope = l.qk_nope_head_dim;
  const Size b = latent.size(0);
  const Size s = latent.size(2);
  const Size width = nope + Size(l.v_head_dim);
  const Tensor both = transpose(view(key_value_up_(latent), {b, s, heads, width}), 1, 2);
  const std::vector<Tensor> parts = split(both, {nope, l.v_head_dim}, -1);
  const Tensor of_each_head = expand(turned, {b, heads, s, l.qk_rope_head_dim});
  Tensor key = empty_columns({b, heads, s, nope + Size(l.qk_rope_head_dim)}, both.dtype(), "key");
  key = write_columns(std::move(key), parts[0]);
  key = write_columns(std::move(key), of_each_head);
  return {key, parts[1]};
}

}  // namespace trainmem::transformers
