#include "engine/blocks/torchtitan/grouped_attention.h"

#include <utility>
#include <vector>

#include "engine/blocks/transformers/decoder.h"
#include "engine/tensor/run.h"

namespace trainmem::torchtitan {

namespace {

struct Heads {
  Tensor query, key, value;
};

/// FusedQKVLinear.forward: the heads of each group lie together, and all three are copied out.
Heads project(const Linear& together, const Tensor& x, const Model& m) {
  const Size d = m.head_dim;
  const Size groups = m.num_key_value_heads;
  const Size times = m.num_attention_heads / groups;
  const Size b = x.size(0);
  const Size s = x.size(1);
  const Tensor all = view(together(x), {b, s, groups, times + 2, d});
  const std::vector<Tensor> parts = split(all, {times, 1, 1}, 3);
  Heads heads;
  heads.query = contiguous(reshape(parts[0], {b, s, groups * times, d}), "query");
  heads.key = contiguous(reshape(parts[1], {b, s, groups, d}), "key");
  heads.value = contiguous(reshape(parts[2], {b, s, groups, d}), "value");
  return heads;
}

}  // namespace

GroupedAttention::GroupedAttention(const Model& m, DType dtype, const Form& form)
    : model_(m), documents_(form.documents), rope_(transformers::turning_width(m), turns_halves(m), form) {
  const Size h = m.hidden_size;
  const Size d = m.head_dim;
  const Size a = m.num_attention_heads;
  const Size k = m.num_key_value_heads;
  together_ = Linear(h, (a + 2 * k) * d, false, dtype, "query, key and value");
  output_ = Linear(a * d, h, false, dtype, "attention projection");
  if (turns_halves(m)) {
    query_norm_ = NormLayer(form.norm, {d}, true, false, dtype);
    key_norm_ = NormLayer(form.norm, {d}, true, false, dtype);
  }
}

Tensor GroupedAttention::operator()(const Tensor& x) const {
  const Place place("attention");
  Heads heads = project(together_, x, model_);
  if (turns_halves(model_)) {
    heads.query = query_norm_(heads.query);
    heads.key = key_norm_(heads.key);
  }
  rope_(heads.query, heads.key);
  Tensor out = flex_attention(transpose(heads.query, 1, 2), transpose(heads.key, 1, 2), transpose(heads.value, 1, 2),
                              documents_);
  out = contiguous(transpose(std::move(out), 1, 2));
  return output_(view(std::move(out), {x.size(0), x.size(1), output_.weight.size(1)}));
}

}  // namespace trainmem::torchtitan
