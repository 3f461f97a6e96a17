#include "engine/blocks/transformers/padding.h"

#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr Rule places_rule{"places of tokens", "where the tokens stand among padding: gradients are put there",
                           "transformers modeling_flash_attention_utils.py: _get_unpad_data"};

/// Where tokens stand that are no padding. Beside it is made where each sequence ends.
Tensor places_of_tokens(Size batch, Size sequence) {
  const Tensor lengths = allocate({batch}, DType::int32, {&places_rule});
  Tensor places = allocate({batch * sequence}, DType::int64, {&places_rule, "places of tokens"});
  allocate({batch + Size(1)}, DType::int32, {&places_rule, "ends of sequences"});
  return places;
}

}  // namespace

Tensor without_padding(const Tensor& states) {
  const Tensor& mask = active_run().attention_mask;
  if (!mask.defined()) return states;
  return multiply(states, unsqueeze(mask, 2), "states without padding");
}

// modeling_flash_attention_utils.py: _flash_attention_forward, _upad_input; flash_attn/bert_padding.py: pad_input.
Tensor unpadded_attention(const Tensor& q, const Tensor& k, const Tensor& v, ScaledDotProduct call) {
  const Size b = q.size(0);
  const Size s = q.size(2);
  const Tensor low_query = autocast_low(q);
  const Tensor low_key = autocast_low(k);
  const Tensor low_value = autocast_low(v);
  const Tensor places = places_of_tokens(b, s);
  const auto unpadded = [&](const Tensor& x, const char* role) {
    const Shape by_token{b, s, x.size(1), x.size(3)};
    Tensor rows = reshape(transpose(x, 1, 2), {b * s, by_token[2], by_token[3]});
    return transpose(view(index_rows(std::move(rows), places, role), by_token), 1, 2);
  };
  const Tensor key = unpadded(low_key, "key");
  const Tensor value = unpadded(low_value, "value");
  const Tensor query = unpadded(low_query, "query");
  call.packed = true;
  const Tensor attended = transpose(scaled_dot_product_attention(query, key, value, call), 1, 2);
  const Shape among_padding = attended.shape();
  Tensor rows = view(attended, {b * s, among_padding[2], among_padding[3]});
  return view(put_rows(std::move(rows), places, "attention output among padding"), among_padding);
}

Tensor attended_tokens(const Tensor& ids, const Rule& rule) {
  const Tensor& mask = active_run().attention_mask;
  return mask.defined() ? mask : allocate(ids.shape(), DType::float32, {&rule});
}

}  // namespace trainmem::transformers
