// Convolution, scan by chunks and gated norm as transformers writes them where no kernels are installed:
// models/nemotron_h/modeling_nemotron_h.py (release 5.16), causal_conv1d_fn, mamba2_chunk_scan, NemotronHMamba2Mixer;
// granitemoehybrid, bamba and falcon_h1 have the same functions. Products that a matrix product would sum at once are
// made in full: chunk x chunk x heads x state of every chunk.
//
// r: chunks of all sequences, l: tokens of a chunk, h: heads, p and n: widths of a head and of its state.
#include "engine/blocks/transformers/mamba_chunks.h"

#include <utility>
#include <vector>

#include "engine/blocks/transformers/chunks.h"
#include "engine/blocks/transformers/padding.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr const char* source = "transformers models/nemotron_h/modeling_nemotron_h.py: mamba2_chunk_scan";
constexpr Rule seen_rule{"view", "", source};
constexpr Rule mask_rule{"triangular mask", "", "transformers models/nemotron_h/modeling_nemotron_h.py: segment_sum"};
constexpr Rule zeros_rule{"state before the first chunk", "", source};

/// Its memory as another shape, whatever its strides: permutations of what is only summed or multiplied cost nothing.
Tensor seen_as(const Tensor& x, const Shape& shape) {
  const Ref<Node> node = begin_node(seen_rule, {&x});
  Tensor result = alias(x, shape, contiguous_strides(shape));
  if (node)
    node->backward = [old = x.shape()](Backward& b) {
      const Tensor gradient = b.take_gradient();
      b.give(0, alias(gradient, old, contiguous_strides(old)));
    };
  finish_node(node, result);
  return result;
}

Tensor triangle(const Size& l) {
  const Tensor ones = allocate({l, l}, DType::boolean, {&mask_rule});
  return allocate({l, l}, DType::boolean, {&mask_rule});
}

Tensor negated(const Tensor& mask) { return allocate(mask.shape(), DType::boolean, {&mask_rule}); }

/// exp(segment_sum(x)): (..., l) becomes (..., l, l).
Tensor decays_between(Tensor x) {
  const Size l = x.size(-1);
  Tensor sums;
  {
    const int last = x.rank();
    Shape full = x.shape();
    full.append(l);
    Tensor wide = expand(unsqueeze(std::move(x), last), full);
    Tensor mask = triangle(l);
    wide = masked_fill(std::move(wide), negated(mask));
    sums = cumsum(wide);
    mask = triangle(l);
    sums = masked_fill(sums, negated(mask));
  }
  return exp(std::move(sums));
}

/// x.repeat_interleave(times, dim=2).
Tensor for_every_head(const Tensor& x, const Size& times) {
  const Shape apart{x.size(0), x.size(1), x.size(2), times, x.size(3)};
  const Shape joined{x.size(0), x.size(1), x.size(2) * times, x.size(3)};
  Tensor wide = expand(unsqueeze(x, 3), apart);
  wide = times == 1 ? clone(std::move(wide)) : contiguous(std::move(wide));
  return seen_as(wide, joined);
}

/// The left factor is made first, as Python does: C++ leaves the order of arguments open.
template <class Right>
Tensor product(const Tensor& left, Right right) {
  return multiply(left, right());
}

struct Scan {
  Size b, s, h, p, n, g, l, c;
  Size r() const { return b * c; }
};

/// mamba2_chunk_scan; in fp32, (b, s, h, p).
Tensor chunk_scan(Tensor hidden, Tensor step, const Tensor& decay, Tensor in, Tensor out, const MambaWeights& w,
                  const Scan& k) {
  const DType format = step.dtype();
  step = add(std::move(step), to(w.step_bias, format));
  step = softplus(std::move(step));
  step = clamp(std::move(step));
  hidden = to(std::move(hidden), DType::float32);
  in = for_every_head(to(std::move(in), DType::float32), k.h / k.g);
  out = for_every_head(to(std::move(out), DType::float32), k.h / k.g);
  const Tensor skip = product(view(w.skip, {k.h, 1}), [&] { return padded(hidden, {k.b, k.c * k.l, k.h, k.p}); });
  hidden = multiply(std::move(hidden), to(unsqueeze(step, 3), DType::float32));
  Tensor rate = multiply(decay, to(step, DType::float32));
  {
    Tensor parts[] = {padded(hidden, {k.r(), k.l, k.h, k.p}), padded(rate, {k.r(), k.h, k.l}),
                      padded(in, {k.r(), k.l, k.h, k.n}), padded(out, {k.r(), k.l, k.h, k.n})};
    hidden = std::move(parts[0]);
    rate = std::move(parts[1]);
    in = std::move(parts[2]);
    out = std::move(parts[3]);
  }
  const Tensor sums = cumsum(rate);
  const auto by_token = [&](const Tensor& of_heads) {
    return unsqueeze(transpose(of_heads, 1, 2), 3);
  };  // (r, l, h, 1)

  const Tensor between = decays_between(rate);  // (r, h, l, l)
  const Tensor scores = sum(product(unsqueeze(out, 2), [&] { return unsqueeze(in, 1); }), 4);
  const Tensor by_head = transpose(transpose(between, 1, 2), 2, 3);  // (r, l, l, h)
  const Tensor mixing = sum(product(unsqueeze(scores, 4), [&] { return unsqueeze(by_head, 4); }), 4);
  const Tensor inside = sum(product(unsqueeze(mixing, 4), [&] { return unsqueeze(hidden, 1); }), 2);  // (r, l, h, p)

  const Tensor to_end = exp(subtract(slice(sums, 2, k.l - Size(1), k.l), sums));
  const Tensor faded = multiply(in, by_token(to_end));
  const Shape flat{k.b, k.c, k.h, k.p * k.n};
  Tensor states = sum(product(unsqueeze(faded, 3), [&] { return unsqueeze(hidden, 4); }), 1);  // (r, h, p, n)
  const Tensor first = allocate({k.b, 1, k.h, k.p * k.n}, DType::float32, {&zeros_rule});
  states = concatenate({first, seen_as(states, flat)}, 1);
  Tensor ends = padded(select(sums, 2, k.l - Size(1)), {k.b, k.h, k.c + Size(1)});
  const Tensor of_chunks = transpose(decays_between(std::move(ends)), 1, 3);  // (b, c + 1, c + 1, h)
  const Tensor passed = sum(product(unsqueeze(of_chunks, 4), [&] { return unsqueeze(states, 2); }), 1);
  states = seen_as(slice(passed, 1, 0, k.c), {k.r(), 1, k.h, k.p, k.n});

  const Tensor from_start = exp(sums);
  const Tensor read = multiply(unsqueeze(out, 3), states);
  const Tensor before = product(sum(read, 4), [&] { return by_token(from_start); });
  Tensor result = add(inside, before);
  result = add(seen_as(result, {k.b, k.c * k.l, k.h, k.p}), skip);
  return slice(std::move(result), 1, 0, k.s);
}

/// NemotronHMamba2Mixer: Zamba2RMSNormGated; of Falcon-H1 without a norm the gate alone.
Tensor gated(const Tensor& scanned, const Tensor& gate, const MambaWeights& w, const Size& groups) {
  if (!w.norm.defined()) return multiply(scanned, silu(gate));
  Tensor hidden = multiply(scanned, silu(to(gate, DType::float32)));
  const Shape whole = hidden.shape();
  Tensor apart = view(hidden, {whole[0], whole[1], groups, whole[2] / groups});
  const Tensor variance = mean_last(square(apart));
  apart = multiply(apart, rsqrt(add_number(variance)));
  hidden = view(apart, whole);
  return multiply(w.norm, hidden);
}

}  // namespace

Tensor mamba_by_operations(const Tensor& projected, const MambaWeights& w, const Mamba& sizes, Tensor given,
                           bool norm_of_groups, const Adapter& adapter) {
  const DType dtype = given.dtype();
  Scan k;
  k.b = projected.size(0), k.s = projected.size(1), k.h = sizes.n_heads, k.p = sizes.d_head, k.n = sizes.d_state;
  k.g = sizes.n_groups, k.l = sizes.chunk_size, k.c = ceil_divide(k.s, k.l);
  const Size width = k.h * k.p;
  const Size channels = width + Size(2) * k.g * k.n;
  const std::vector<Tensor> parts = split(projected, {width, channels, k.h}, -1);
  Tensor mixed = transpose(causal_convolution(transpose(parts[1], 1, 2), w.convolution, w.convolution_bias), 1, 2);
  mixed = without_padding(mixed);
  const std::vector<Tensor> inner = split(mixed, {width, k.g * k.n, k.g * k.n}, -1);
  given.reset();  // the name of the hidden states is given to a part
  const auto by_group = [&](const Tensor& x) { return view(x, {k.b, k.s, k.g, k.n}); };
  Tensor scanned =
      chunk_scan(view(inner[0], {k.b, k.s, k.h, k.p}), parts[2], w.decay, by_group(inner[1]), by_group(inner[2]), w, k);
  scanned = reshape(std::move(scanned), {k.b, k.s, width});
  const Tensor normed = gated(scanned, parts[0], w, norm_of_groups ? k.g : Size(1));
  const Tensor input = to(normed, dtype);
  Tensor output = linear(input, w.output, w.output_bias, "output of the mixer");
  return adapter.defined() ? adapter(std::move(output), input) : output;
}

}  // namespace trainmem::transformers
