#include "engine/blocks/torchtitan/rope.h"

#include <utility>

#include "engine/blocks/transformers/rotary.h"
#include "engine/tensor/run.h"

namespace trainmem::torchtitan {

namespace {

constexpr Rule table_rule{"buffer", "a buffer of the model", "torchtitan models/common/rope.py: RoPE.__init__"};
constexpr Rule rows_rule{"index", "", "torchtitan models/common/rope.py: _reshape_for_broadcast"};

/// Query and key are cast, turned and cast back, each step for both.
template <typename Turn>
void turn_in_fp32(Tensor& query, Tensor& key, const Turn& turned) {
  const Tensor q = to(query, DType::float32);
  const Tensor k = to(key, DType::float32);
  const Tensor turned_query = turned(q);
  const Tensor turned_key = turned(k);
  Tensor cast = to(turned_query, query.dtype(), "query");
  key = to(turned_key, key.dtype(), "key");
  query = std::move(cast);
}

/// ComplexRoPE.apply_rotary_emb.
void turn_pairs(Tensor& query, Tensor& key, const Tensor& frequencies) {
  turn_in_fp32(query, key, [&](const Tensor& x) { return multiply_complex(x, frequencies); });
}

}  // namespace

Tensor turn(const Tensor& x, const Tensor& frequencies) {
  const Tensor complex_numbers = to(x, DType::float32);
  const Tensor turned = multiply_complex(complex_numbers, frequencies);
  return to(turned, x.dtype());
}

void turn_halves(Tensor& query, Tensor& key, const Tensor& cos, const Tensor& sin) {
  turn_in_fp32(query, key, [&](const Tensor& x) { return transformers::rotate(x, cos, sin); });
}

Rope::Rope(const Size& width, bool halves, const Form& form) : width_(width), halves_(halves) {
  const Set<Component> weights(active_run().component, Component::weights);
  table_ = allocate({form.positions, halves ? 2 * width : width}, DType::float32, {&table_rule, "rotary frequencies"});
  note_kept(table_, table_rule);
}

void Rope::operator()(Tensor& query, Tensor& key) const {
  const Size tokens = query.size(1);
  const Tensor rows =
      allocate({1, tokens, 1, table_.size(1)}, DType::float32, {&rows_rule, "rotary frequencies of the positions"});
  if (!halves_) return turn_pairs(query, key, rows);
  turn_halves(query, key, slice(rows, -1, 0, width_), slice(rows, -1, width_, 2 * width_));
}

}  // namespace trainmem::torchtitan
