#include "engine/blocks/transformers/rotary.h"

#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr Rule buffer_rule{"buffer", "a buffer of the model", "transformers modeling_rope_utils.py"};
constexpr Rule rope_rule{"rotary tables", "cosines and sines that every block uses",
                         "transformers models/llama/modeling_llama.py: LlamaRotaryEmbedding.forward"};

}  // namespace

Rotary::Rotary(Size turning) : width(turning) {
  inverse_frequencies = model_buffer({width / 2}, DType::float32, buffer_rule, "rotary frequencies");
  original_inverse_frequencies = model_buffer({width / 2}, DType::float32, buffer_rule, "rotary frequencies");
}

namespace {

/// cos and sin of `angles`, each times attention_scaling, cast.
std::pair<Tensor, Tensor> tables_of(const Tensor& angles, DType dtype) {
  const auto table = [&] {
    const Tensor plain = allocate(angles.shape(), DType::float32, {&rope_rule});
    Tensor scaled = allocate(angles.shape(), DType::float32, {&rope_rule, "rotary tables"});
    return scaled;
  };
  const Tensor cos = table();
  const Tensor sin = table();
  return {to(cos, dtype, "rotary tables"), to(sin, dtype, "rotary tables")};
}

}  // namespace

Tensor Rotary::frequencies(Size s, const Size& rows) const {
  const Tensor positions = allocate({rows, 1, s}, DType::float32, {&rope_rule});
  return allocate({rows, width / 2, s}, DType::float32, {&rope_rule});
}

std::pair<Tensor, Tensor> Rotary::tables(Size s, DType dtype, bool of_a_half, Size rows) const {
  const Place place("rotary embedding");
  const Tensor half = frequencies(s, rows);
  const Shape shape{rows, s, of_a_half ? width / 2 : width};
  return tables_of(of_a_half ? transpose(half, 1, 2) : allocate(shape, DType::float32, {&rope_rule}), dtype);
}

std::pair<Tensor, Tensor> Rotary::interleaved_tables(Size batch, Size s, DType dtype) const {
  const Place place("rotary embedding");
  const Tensor of_three = frequencies(s, batch * 3);
  return tables_of(allocate({batch, s, width}, DType::float32, {&rope_rule}), dtype);
}

Tensor Rotary::complex_table(Size s) const {
  const Place place("rotary embedding");
  const Tensor half = frequencies(s, 1);
  Tensor turns;
  {
    const Tensor ones = allocate({1, s, width / 2}, DType::float32, {&rope_rule});
    turns = allocate({1, s, width}, DType::float32, {&rope_rule});
  }
  return allocate({1, s, width}, DType::float32, {&rope_rule, "rotary tables"});  // times attention_scaling
}

Tensor rotate_half(Tensor x) {
  const Size half = x.size(-1) / 2;
  const Tensor x1 = slice(x, -1, 0, half);
  const Tensor x2 = slice(x, -1, half, x.size(-1));
  x.reset();
  return concatenate({negate(x2), x1}, -1);
}

Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Tensor turned = x * cos;
  return std::move(turned) + rotate_half(x) * sin;
}

void apply_rotary(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) {
  const Tensor cos4 = unsqueeze(cos, 1);
  const Tensor sin4 = unsqueeze(sin, 1);
  Tensor turned_q = rotate(q, cos4, sin4);
  Tensor turned_k = rotate(k, cos4, sin4);
  q = std::move(turned_q);
  k = std::move(turned_k);
}

namespace {

/// Channels of each head that turn, and the others.
struct Channels {
  Tensor turning, rest;
  Channels(const Tensor& x, const Size& width)
      : turning(slice(x, -1, 0, width)), rest(slice(x, -1, width, x.size(-1))) {}
  Tensor joined(const Tensor& turned, const char* role) const { return concatenate({turned, rest}, -1, role); }
};

}  // namespace

void apply_partial_rotary_together(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) {
  const Channels query(q, cos.size(-1));
  const Channels key(k, cos.size(-1));
  Tensor turned_q = query.turning;
  Tensor turned_k = key.turning;
  apply_rotary(turned_q, turned_k, cos, sin);
  Tensor joined_q = query.joined(turned_q, "query");
  k = key.joined(turned_k, "key");
  q = std::move(joined_q);
}

void apply_partial_rotary_in_turn(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) {
  const Channels query(q, cos.size(-1));
  const Channels key(k, cos.size(-1));
  const Tensor cos4 = unsqueeze(cos, 1);
  const Tensor sin4 = unsqueeze(sin, 1);
  Tensor turned_q = query.joined(rotate(query.turning, cos4, sin4), "query");
  k = key.joined(rotate(key.turning, cos4, sin4), "key");
  q = std::move(turned_q);
}

Locals apply_partial_rotary_kept(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) {
  Channels query(q, cos.size(-1));
  Channels key(k, cos.size(-1));
  apply_rotary(query.turning, key.turning, cos, sin);
  q = query.joined(query.turning, "query");
  k = key.joined(key.turning, "key");
  return {query.turning, query.rest, key.turning, key.rest};
}

void apply_partial_rotary(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) {
  const Channels query(q, cos.size(-1));
  const Channels key(k, cos.size(-1));
  Tensor turned_q = query.turning;
  Tensor turned_k = key.turning;
  apply_rotary(turned_q, turned_k, cos, sin);
  turned_q = query.joined(turned_q, "query");
  turned_k = key.joined(turned_k, "key");
  q = std::move(turned_q);
  k = std::move(turned_k);
}

namespace {

/// x1 * cos - x2 * sin beside x2 * cos + x1 * sin.
Tensor turned_parts(const Tensor& x1, const Tensor& x2, const Tensor& cos, const Tensor& sin, const char* role) {
  Tensor straight = x1 * cos;
  const Tensor first = subtract(std::move(straight), x2 * sin);
  straight = x2 * cos;
  const Tensor second = std::move(straight) + x1 * sin;
  return concatenate({first, second}, -1, role);
}

}  // namespace

void apply_rotary_halves(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) {
  const Tensor cos4 = unsqueeze(cos, 1);
  const Tensor sin4 = unsqueeze(sin, 1);
  const auto turned = [&](const Tensor& x, const char* role) {
    const std::vector<Tensor> halves = split(x, {x.size(-1) / 2, x.size(-1) / 2}, -1);
    return turned_parts(halves[0], halves[1], cos4, sin4, role);
  };
  Tensor turned_q = turned(q, "query");
  k = turned(k, "key");
  q = std::move(turned_q);
}

// models/deepseek_v3/modeling_deepseek_v3.py: apply_rotary_pos_emb_interleave.
void apply_rotary_even_and_odd(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin, int heads) {
  const Tensor cos4 = unsqueeze(slice(cos, -1, 0, cos.size(-1) / 2), heads);
  const Tensor sin4 = unsqueeze(slice(sin, -1, 0, sin.size(-1) / 2), heads);
  const Tensor q1 = every_second(q, 0);
  const Tensor q2 = every_second(q, 1);
  const Tensor k1 = every_second(k, 0);
  const Tensor k2 = every_second(k, 1);
  Tensor turned_q = turned_parts(q1, q2, cos4, sin4, "query");
  k = turned_parts(k1, k2, cos4, sin4, "key");
  q = std::move(turned_q);
}

void apply_rotary_complex(Tensor& q, Tensor& k, const Tensor& turns, int heads) {
  const Tensor q_numbers = to(q, DType::float32);
  const Tensor k_numbers = to(k, DType::float32);
  const Tensor turns4 = unsqueeze(turns, heads);
  Tensor turned_q = to(multiply_complex(q_numbers, turns4), q.dtype(), "query");
  k = to(multiply_complex(k_numbers, turns4), k.dtype(), "key");
  q = std::move(turned_q);
}

void apply_rotary_fp32(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) {
  Tensor turned_q = q;
  Tensor turned_k = k;
  apply_rotary(turned_q, turned_k, cos, sin);
  const Tensor cast_q = to(turned_q, q.dtype(), "query");
  k = to(turned_k, k.dtype(), "key");
  q = cast_q;
}

// models/qwen2_vl/modeling_qwen2_vl.py: apply_multimodal_rotary_pos_emb.
Tensor channels_of_positions(const Tensor& table, const Size& positions) {
  return allocate({table.size(0) / positions, table.size(1), table.size(2)}, table.dtype(),
                  {&rope_rule, "rotary tables"});
}

Tensor neighbours_table(const Tensor& table) {
  const Shape& s = table.shape();
  const Tensor half = unsqueeze(slice(table, -1, 0, s[2] / 2), 3);
  return view(clone_contiguous(expand(half, {s[0], s[1], s[2] / 2, 2})), s);
}

void apply_rotary_ernie(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) {
  const Tensor cos4 = unsqueeze(cos, 1);
  const Tensor sin4 = unsqueeze(sin, 1);
  const auto turned = [&](const Tensor& x) {
    Tensor straight = to(x, DType::float32) * cos4;
    return std::move(straight) + to(rotate_half(x), DType::float32) * sin4;
  };
  const Tensor turned_q = turned(q);
  const Tensor turned_k = turned(k);
  Tensor cast_q = to(turned_q, q.dtype(), "query");
  k = to(turned_k, k.dtype(), "key");
  q = std::move(cast_q);
}

void apply_rotary_interleaved(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin) {
  // rotate_half() takes every second channel and stacks them: sizes and lifetimes are those of the halves.
  Tensor turned_q = to(q, DType::float32);
  Tensor turned_k = to(k, DType::float32);
  const Tensor plain_q = turned_q;
  const Tensor plain_k = turned_k;
  apply_rotary(turned_q, turned_k, cos, sin);
  const Tensor cast_q = to(turned_q, q.dtype(), "query");
  k = to(turned_k, k.dtype(), "key");
  q = cast_q;
}

}  // namespace trainmem::transformers
