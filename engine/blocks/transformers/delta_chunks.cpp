// The gated delta rule as transformers writes it where no kernels are installed: models/qwen3_next/
// modeling_qwen3_next.py (release 5.16), torch_chunk_gated_delta_rule; qwen3_5 and olmo_hybrid have the same function.
// A chunk's inverse is made row by row in place: every row keeps a copy of all that stands before it.
//
// b: sequences, h: heads, c: chunks of a sequence, l: tokens of a chunk, k and v: widths of keys and of values.
#include "engine/blocks/transformers/delta_chunks.h"

#include <utility>

#include "engine/blocks/transformers/chunks.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/write_columns.h"

namespace trainmem::transformers {

namespace {

constexpr const char* source = "transformers models/qwen3_next/modeling_qwen3_next.py: torch_chunk_gated_delta_rule";
constexpr Rule mask_rule{"triangular mask", "", source};
constexpr Rule identity_rule{"eye", "", source};
constexpr Rule zeros_rule{"zeros", "state before the first chunk, and the output before it is written", source};
constexpr Rule triangle_rule{"tril", "", "derivatives.yaml: tril"};

constexpr std::int64_t chunk = 64;  ///< chunk_size

Tensor upper_triangle() {
  const Tensor ones = allocate({chunk, chunk}, DType::boolean, {&mask_rule});
  return allocate({chunk, chunk}, DType::boolean, {&mask_rule});
}

Tensor lower_triangle(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(triangle_rule, {&x});
  Tensor result = allocate(x.shape(), x.dtype(), {&triangle_rule});
  if (node)
    node->backward = [](Backward& b) {
      b.give(0, allocate(b.gradient().shape(), b.gradient().dtype(), {&triangle_rule}));
    };
  finish_node(node, result);
  return result;
}

/// l2norm.
Tensor unit_vectors(const Tensor& x) {
  const Tensor inverse = rsqrt(add_number(sum(autocast_fp32(multiply(x, x)), x.rank() - 1, true)));
  return multiply(x, inverse);
}

/// x.transpose(1, 2).contiguous().to(torch.float32).
Tensor by_head(const Tensor& x) { return to(contiguous(transpose(x, 1, 2)), DType::float32); }

/// (b, h, c l, width) as (b, h, c, l, width).
Tensor in_chunks(const Tensor& x) { return view(x, {x.size(0), x.size(1), x.size(2) / chunk, chunk, x.size(3)}); }

struct Arguments {
  Tensor query, key, value, rate, decay;
};

/// In fp32, a head's tokens one after the other, padded to whole chunks.
Arguments prepared(const Tensor& given_query, const Tensor& given_key, const Tensor& value, const Tensor& decay,
                   const Tensor& rate) {
  Arguments x;
  {
    const Tensor query = unit_vectors(given_query);
    const Tensor key = unit_vectors(given_key);
    x.query = by_head(query);
    x.key = by_head(key);
    x.value = by_head(value);
    x.rate = by_head(rate);
    x.decay = by_head(decay);
  }
  const Size tokens = ceil_divide(x.key.size(2), chunk) * Size(chunk);
  for (Tensor* each : {&x.query, &x.key, &x.value, &x.rate, &x.decay}) {
    Shape shape = each->shape();
    shape[2] = tokens;
    *each = padded(*each, shape);
  }
  x.query = multiply_number(x.query);
  return x;
}

/// (b, h, c, l, l), from sums of the decay.
Tensor fading_within(const Tensor& decay) {
  Tensor difference = unsqueeze(decay, 4);
  difference = subtract(std::move(difference), unsqueeze(decay, 3));
  return lower_triangle(exp(lower_triangle(std::move(difference))));
}

/// What is left of a token at the end of its chunk.
Tensor left_of(const Tensor& at_end, const Tensor& here) { return exp(subtract(unsqueeze(at_end, 2), here)); }

/// The triangular matrix of a chunk's keys, inverted row by row; of the last row the caller's variables keep copies.
Tensor inverted(Tensor attention, Tensor& row, Tensor& before) {
  for (std::int64_t i = 1; i < chunk; ++i) {
    row = clone(slice(select(attention, 3, i), 3, 0, i));
    before = clone(slice(slice(attention, 3, 0, i), 4, 0, i));
    const Tensor next = add(row, sum(multiply(unsqueeze(row, 4), before), 3));
    attention = write_columns(attention, next);
  }
  const Tensor identity = allocate({chunk, chunk}, attention.dtype(), {&identity_rule});
  return add(std::move(attention), identity);
}

}  // namespace

Tensor delta_rule_by_operations(const Tensor& given_query, const Tensor& given_key, const Tensor& given_value,
                                const Tensor& given_decay, const Tensor& given_rate) {
  const DType dtype = given_query.dtype();
  Arguments x = prepared(given_query, given_key, given_value, given_decay, given_rate);
  const Size b = x.key.size(0);
  const Size h = x.key.size(1);
  const std::int64_t chunks = x.key.size(2) / chunk;
  const Tensor values = multiply(x.value, unsqueeze(x.rate, 3));
  const Tensor keys = multiply(x.key, unsqueeze(x.rate, 3));
  const Tensor query = in_chunks(x.query);
  const Tensor key = in_chunks(x.key);
  const Tensor rated_value = in_chunks(values);
  const Tensor rated_key = in_chunks(keys);
  Tensor mask = upper_triangle();
  const Tensor decay = cumsum(view(x.decay, {b, h, chunks, chunk}));
  x.decay.reset();  // g = g.cumsum(dim=-1)
  const Tensor fading = fading_within(decay);
  Tensor attention, last_row, rows_before;
  {
    Tensor products = multiply(matmul(rated_key, transpose(key, -1, -2)), fading);
    attention = inverted(negate(masked_fill(std::move(products), mask)), last_row, rows_before);
  }
  const Tensor value = matmul(attention, rated_value);
  x.value.reset();  // value = attn @ v_beta
  const Tensor faded_key = matmul(attention, multiply(rated_key, unsqueeze(exp(decay), 4)));
  Tensor state = allocate({b, h, key.size(4), value.size(4)}, value.dtype(), {&zeros_rule, "state"});
  Tensor out = allocate(value.shape(), value.dtype(), {&zeros_rule, "attention output"});
  mask = upper_triangle();
  Tensor before, fresh, between;
  for (std::int64_t i = 0; i < chunks; ++i) {
    const Tensor q = select(query, 2, i);
    const Tensor k = select(key, 2, i);
    const Tensor v = select(value, 2, i);
    const auto decay_here = [&] { return select(decay, 2, i); };
    const auto decay_at_end = [&] { return select(decay_here(), 2, chunk - 1); };
    {
      Tensor products = matmul(q, transpose(k, -1, -2));
      attention = multiply(std::move(products), select(fading, 2, i));
    }
    before = matmul(select(faded_key, 2, i), state);
    fresh = subtract(v, before);
    between = matmul(multiply(q, exp(unsqueeze(decay_here(), 3))), state);
    {
      const Tensor within = matmul(attention, fresh);
      out = write_columns(out, add(between, within));
    }
    const Tensor faded = multiply(state, exp(unsqueeze(unsqueeze(decay_at_end(), 2), 3)));
    const Tensor written =
        matmul(transpose(multiply(k, unsqueeze(left_of(decay_at_end(), decay_here()), 3)), -1, -2), fresh);
    state = add(faded, written);
  }
  state.reset();
  out = slice(view(out, {b, h, chunks * chunk, value.size(4)}), 2, 0, given_key.size(1));
  return to(contiguous(transpose(out, 1, 2)), dtype);
}

// Qwen3NextRMSNormGated, OlmoHybridRMSNormGated.
Tensor gated_norm_by_operations(const Tensor& x, const Tensor& gate, const Tensor& weight) {
  Tensor hidden = to(x, DType::float32);
  const Tensor variance = mean_last(square(hidden));
  hidden = hidden * rsqrt(add_number(variance));
  hidden = weight * to(hidden, x.dtype());
  hidden = hidden * silu(to(gate, DType::float32));
  return to(hidden, x.dtype());
}

}  // namespace trainmem::transformers
