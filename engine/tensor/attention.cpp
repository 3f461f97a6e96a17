// Scaled dot-product attention: the kernel that PyTorch picks and what each keeps.
#include "engine/tensor/dispatch_mode.h"
#include "engine/tensor/flash_scratch.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/selective.h"
#include "engine/tensor/work.h"

namespace trainmem {

const Rule flash_backward_rule{"flash attention", "",
                               "pytorch aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp: mha_bwd"};

namespace {

constexpr Rule flash_rule{"flash attention",
                          "query, key, value, output and log-sum-exp: the backward of flash attention needs them",
                          "derivatives.yaml: _scaled_dot_product_flash_attention"};
constexpr Rule flash_copy_rule{"flash attention", "",
                               "pytorch aten/src/ATen/native/transformers/cuda/attention_backward.cu"};
constexpr Rule efficient_rule{
    "efficient attention", "query, key, value, output and log-sum-exp: the backward of efficient attention needs them",
    "derivatives.yaml: _scaled_dot_product_efficient_attention"};
constexpr Rule pad_rule{"constant_pad_nd", "heads padded to a multiple of 8: flash attention takes no others",
                        "pytorch aten/src/ATen/native/transformers/attention.cpp: pad_last_dim"};
constexpr Rule mask_rule{"attention mask", "", "pytorch aten/src/ATen/native/transformers/attention.cpp"};

/// (b, a, s, d) whose memory is (b, s, a, d), as the kernels write it.
Tensor allocate_heads(const Shape& shape, DType dtype, const Label& label) {
  const Tensor memory = allocate({shape[0], shape[2], shape[1], shape[3]}, dtype, label);
  Strides strides = memory->strides;
  std::swap(strides[1], strides[2]);
  Tensor result = alias(memory, shape, strides);
  result->is_view = false;
  return result;
}

bool same_storage(const Tensor& a, const Tensor& b) { return a->storage.get() == b->storage.get(); }

/// _flash_attention_backward reads (b, s, a, d) in contiguous memory: what lies otherwise is copied.
Tensor contiguous_heads(const Tensor& x) {
  const Shape& s = x.shape();
  const Strides expected = contiguous_strides({s[0], s[2], s[1], s[3]});
  if (x->strides[1] == expected[2] && x->strides[2] == expected[1]) return x;
  return allocate_heads(s, x.dtype(), {&flash_copy_rule, "contiguous copy (scratch)", true});
}

AttentionSizes sizes_of(const Tensor& q, const Tensor& k, bool causal, std::int64_t window = 0) {
  return {q.size(0), q.size(1), q.size(2), k.size(2), q.size(3), causal, window};
}

Tensor flash(const Tensor& q, const Tensor& k, const Tensor& v, const ScaledDotProduct& options) {
  // The mask of its dropout is drawn again in backward.
  const AttentionSizes sizes = sizes_of(q, k, options.causal, options.window);
  const Ref<Node> node = begin_node(flash_rule, {&q, &k, &v});
  keep(node, q);
  keep(node, k);
  keep(node, v);
  const Shape& shape = q.shape();
  std::vector<Tensor> results = selected_results([&] {
    note_attention(Pass::forward, sizes);
    return std::vector<Tensor>{
        allocate_like(q, shape, q.dtype(), {&flash_rule, "attention output"}),
        allocate({shape[0], shape[1], shape[2]}, DType::float32, {&flash_rule, "log-sum-exp"}),
        allocate({2}, DType::int64, {&flash_rule, "random seed"}),
        allocate({}, DType::int64, {&flash_rule, "random offset"}),
    };
  });
  for (const Tensor& result : results) keep(node, result);
  if (node)
    node->backward = [sizes, packed = options.packed](Backward& b) {
      std::vector<Tensor> kept;
      for (int i = 0; i < 7; ++i) kept.push_back(b.kept(i));
      note_attention(Pass::backward, sizes);
      const Tensor& query = kept[0];
      const Tensor& key = kept[1];
      const Tensor gradient = contiguous_heads(b.gradient());
      const Tensor output = contiguous_heads(kept[3]);
      const DType dtype = query.dtype();
      const Shape& s = query.shape();
      flash_backward(query, key, packed, [&] {
        b.give(0, allocate_like(query, s, dtype, {&flash_rule, "gradient of query"}));
        b.give(1, allocate_like(key, key.shape(), dtype, {&flash_rule, "gradient of key"}));
        b.give(2, allocate_like(kept[2], kept[2].shape(), dtype, {&flash_rule, "gradient of value"}));
      });
    };
  finish_node(node, results[0]);
  return std::move(results[0]);
}

/// pad_last_dim<8>; backward cuts the padding off again. `packed`: flash-attn's own, of (b, s, a, d).
Tensor padded_heads(const Tensor& x, bool packed) {
  Shape wide = x.shape();
  wide[-1] = round_up(wide[-1], 8);
  const Ref<Node> node = begin_node(pad_rule, {&x});
  const Label label{&pad_rule, "padded heads"};
  Tensor result = packed ? allocate_heads(wide, x.dtype(), label) : allocate(wide, x.dtype(), label);
  if (node)
    node->backward = [narrow = x.shape(), dtype = x.dtype()](Backward& b) {
      b.give(0, allocate(narrow, dtype, {&pad_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor flash_of_any_width(const Tensor& q, const Tensor& k, const Tensor& v, const ScaledDotProduct& options) {
  const Size width = q.size(-1);
  if (width.value() % 8 == 0) return flash(q, k, v, options);
  const Tensor query = padded_heads(q, options.packed);
  const Tensor key = padded_heads(k, options.packed);
  const Tensor value = padded_heads(v, options.packed);
  return slice(flash(query, key, value, options), -1, 0, width);
}

Tensor efficient(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal) {
  const AttentionSizes sizes = sizes_of(q, k, causal && !mask.defined());
  const Ref<Node> node = begin_node(efficient_rule, {&q, &k, &v, &mask});
  keep(node, q);
  keep(node, k);
  keep(node, v);
  if (mask.defined()) keep(node, mask);
  const Shape& shape = q.shape();
  const Shape out_shape{shape[0], shape[1], shape[2], v.size(3)};
  std::vector<Tensor> results = selected_results([&] {
    note_attention(Pass::forward, sizes);
    const Shape sums{shape[0], shape[1], round_up(shape[2], 32)};
    std::vector<Tensor> made;
    made.push_back(allocate_heads(out_shape, q.dtype(), {&efficient_rule, "attention output"}));
    // sdp_utils.h, should_compute_logsumexp: without gradients it has no rows.
    made.push_back(node ? allocate(sums, DType::float32, {&efficient_rule, "log-sum-exp"})
                        : allocate_nothing(sums, DType::float32));
    made.push_back(allocate({}, DType::int64, {&efficient_rule, "random seed"}));
    made.push_back(allocate({}, DType::int64, {&efficient_rule, "random offset"}));
    return made;
  });
  for (const Tensor& result : results) keep(node, result);
  if (node)
    node->backward = [masked = mask.defined(), sizes](Backward& b) {
      std::vector<Tensor> kept;
      for (int i = 0; i < (masked ? 8 : 7); ++i) kept.push_back(b.kept(i));
      note_attention(Pass::backward, sizes);
      const Tensor& query = kept[0];
      const Tensor& key = kept[1];
      const Tensor& value = kept[2];
      const DType dtype = query.dtype();
      const Shape& s = query.shape();
      // Query, key and value that are parts of one tensor get their gradients as parts of one tensor.
      if (same_storage(query, key) && same_storage(query, value) && query.shape() == key.shape()) {
        const Tensor together =
            allocate({s[0], s[2], 3, s[1], s[3]}, dtype, {&efficient_rule, "gradient of query, key and value"});
        Strides strides = together->strides;
        const Strides part{strides[0], strides[3], strides[1], strides[4], 0};
        for (int i = 0; i < 3; ++i) b.give(i, alias(together, s, part));
        return;
      }
      b.give(0, allocate_heads(s, dtype, {&efficient_rule, "gradient of query"}));
      b.give(1, allocate_heads(key.shape(), dtype, {&efficient_rule, "gradient of key"}));
      b.give(2, allocate_heads(value.shape(), dtype, {&efficient_rule, "gradient of value"}));
    };
  finish_node(node, results[0]);
  return std::move(results[0]);
}

/// repeat_interleave over the heads.
Tensor repeat_heads(Tensor argument, Size times) {
  const Tensor x = std::move(argument);
  const Shape& s = x.shape();
  const Shape wide{s[0], s[1], times, s[2], s[3]};
  return reshape(contiguous(expand(unsqueeze(x, 2), wide)), {s[0], s[1] * times, s[2], s[3]});
}

/// attention.cpp, _safe_softmax: rows that are masked as a whole become zero, in place.
Tensor safe_softmax(const Tensor& scores) {
  Tensor result = softmax(scores);
  const Tensor infinite = allocate(scores.shape(), DType::boolean, {&mask_rule, "masked scores (scratch)", true});
  return result;
}

/// Written out: attention.cpp, _scaled_dot_product_attention_math.
Tensor math(Tensor q, Tensor k, Tensor v, const ScaledDotProduct& options) {
  const DType origin = q.dtype();
  if (is_half(origin)) {
    q = to(std::move(q), DType::float32);
    k = to(std::move(k), DType::float32);
    v = to(std::move(v), DType::float32);
  }
  // Autocast has done its part before; local variables live until the function returns.
  const Set<bool> no_autocast(active_run().autocast.enabled, false);
  const Tensor scaled = multiply_number(q);
  Tensor mask = options.mask;
  if (options.causal && !mask.defined()) {
    const Shape square{scaled.size(2), k.size(2)};
    Tensor lower;
    {
      const Tensor ones = allocate(square, DType::boolean, {&mask_rule});
      lower = allocate(square, DType::boolean, {&mask_rule});
    }
    const Tensor lowest = allocate({}, scaled.dtype(), {&mask_rule});
    mask = allocate(square, scaled.dtype(), {&mask_rule, "causal mask"});
  }
  const bool repeats = options.grouped && k.size(1) != q.size(1);
  const Tensor key = repeats ? repeat_heads(k, q.size(1) / k.size(1)) : k;
  const Tensor value = repeats ? repeat_heads(v, q.size(1) / v.size(1)) : v;
  Tensor attention = matmul(scaled, multiply_number(transpose(key, -2, -1)), "scores");
  if (mask.defined() && DispatchMode::is_on()) attention = attention + mask;  // else in place
  attention = safe_softmax(attention);
  if (options.dropout > 0) attention = dropout(attention, options.dropout);
  const Tensor weights = to(attention, origin);  // its second result, which nobody takes
  return to(matmul(attention, value, "attention output"), origin);
}

/// attention.cpp, convert_boolean_attn_mask: zeros and minus infinities, anew in every call.
Tensor additive_mask(const Tensor& mask, DType dtype) {
  if (!mask.defined() || mask.dtype() != DType::boolean) return mask;
  const Tensor lowest = allocate({}, dtype, {&mask_rule});
  return allocate(mask.shape(), dtype, {&mask_rule, "additive mask"});
}

/// attention.cpp, preprocess_mask: rows start at multiples of 16 elements, else the mask is padded.
Tensor aligned_mask(Tensor mask) {
  if (!mask.defined() || mask.size(-1) % 16 == 0) return mask;
  Shape padded = mask.shape();
  padded[-1] = padded[-1] + Size(16) - mask.size(-1) % 16;
  const Tensor memory = allocate(padded, mask.dtype(), {&mask_rule, "padded mask"});
  return alias(memory, mask.shape(), memory->strides);
}

}  // namespace

void flash_backward(const Tensor& query, const Tensor& key, bool packed, const std::function<void()>& make_gradients) {
  const Shape& s = query.shape();
  const Size rows = packed ? s[2] + Size(128) : round_up(s[2], 128);
  const Size width = s[3].value() <= 128 ? round_up(s[3], 32) : round_up(s[3], 64);
  struct Piece {
    Shape shape;
    DType dtype;
    const char* role;
  };
  std::vector<Piece> pieces{{{s[0], s[1], rows}, DType::float32, "row sums (scratch)"},
                            {{s[0], rows, s[1], width}, DType::float32, "fp32 gradient of query (scratch)"}};
  if (key.size(1) != s[1])
    for (const char* role : {"gradient of key for every head (scratch)", "gradient of value for every head (scratch)"})
      pieces.push_back({{s[0], key.size(2), s[1], s[3]}, query.dtype(), role});

  std::vector<Tensor> held;
  const auto take = [&](const Shape& shape, DType dtype, const char* role) {
    held.push_back(allocate(shape, dtype, {&flash_backward_rule, role, true}));
  };
  if (DispatchMode::is_on()) {
    Size bytes = 0;
    for (const Piece& piece : pieces) bytes = bytes + piece.shape.elements() * Size(element_bytes(piece.dtype));
    take({bytes}, DType::uint8, "gradients and row sums (scratch)");
    make_gradients();
    return;
  }
  make_gradients();
  for (const Piece& piece : pieces) take(piece.shape, piece.dtype, piece.role);
}

AttentionAlgorithm select_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const ScaledDotProduct& options) {
  const Size width = q.size(3);
  const bool grouped = k.size(1) != q.size(1);
  const bool same_width = v.size(3) == q.size(3);
  if (options.forced_math || (grouped && !options.grouped)) return AttentionAlgorithm::math;
  if (is_half(q.dtype()) && !options.mask.defined() && width <= 256 && same_width) return AttentionAlgorithm::flash;
  // sdp_utils.cpp, check_head_dim_size_mem_efficient: rows of 16 bytes.
  const std::int64_t alignment = is_half(q.dtype()) ? 8 : 4;
  const bool aligned = width.value() % alignment == 0 && v.size(3).value() % alignment == 0;
  if (!grouped && aligned) return AttentionAlgorithm::efficient;
  return AttentionAlgorithm::math;
}

// What is given lives until the kernel has run, beside its casts.
// NOLINTBEGIN(performance-unnecessary-value-param)
Tensor scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, const ScaledDotProduct& given) {
  const Tensor mask = autocast_low(given.mask);
  Tensor v = autocast_low(value);
  Tensor k = autocast_low(key);
  Tensor q = autocast_low(query);
  ScaledDotProduct options = given;
  options.mask = additive_mask(mask, q.dtype());
  switch (select_attention(q, k, v, options)) {
    case AttentionAlgorithm::flash: return flash_of_any_width(q, k, v, options);
    case AttentionAlgorithm::efficient: {
      const Tensor aligned = aligned_mask(std::move(options.mask));  // of what it was made the last holder goes here
      return efficient(q, k, v, aligned, options.causal);
    }
    case AttentionAlgorithm::math: return math(q, k, v, options);
  }
  return {};
}
// NOLINTEND(performance-unnecessary-value-param)

}  // namespace trainmem
