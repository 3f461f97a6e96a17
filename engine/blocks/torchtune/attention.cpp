#include "engine/blocks/torchtune/attention.h"

#include "engine/blocks/torchtune/rope.h"

namespace trainmem::torchtune {

namespace {

constexpr Rule buffer_rule{"buffer", "a buffer of the model",
                           "torchtune modules/position_embeddings.py: RotaryPositionalEmbeddings.build_rope_cache"};
constexpr Rule mask_rule{"causal mask", "", "torchtune models/gemma2/_attention.py: Gemma2Attention.forward"};
constexpr Rule scale_rule{"mul_", "", "derivatives.yaml: mul.Scalar"};
constexpr Rule slices_rule{"CopySlices", "", "pytorch torch/csrc/autograd/functions/tensor.cpp: CopySlices::apply"};
constexpr Rule strided_rule{"as_strided", "", "pytorch torch/csrc/autograd/FunctionsManual.cpp: as_strided_backward"};

/// A view that is multiplied in place: its history goes on from the tensor that it views.
Tensor scale_view_in_place(Tensor argument) {
  const Tensor x = std::move(argument);
  const Ref<Node> slices = begin_node(slices_rule, {&x});
  const Tensor written = alias(x, x.shape(), x->strides);
  if (slices)
    slices->backward = [](Backward& b) {
      const Tensor& gradient = b.gradient();
      const auto another = [&](const Rule& rule) { return allocate(gradient.shape(), gradient.dtype(), {&rule}); };
      const Tensor whole = another(slices_rule);
      const Tensor part = another(slices_rule);
      const Tensor scaled = another(scale_rule);
      b.give(0, whole);
    };
  finish_node(slices, written);
  const Ref<Node> strided = begin_node(strided_rule, {&written});
  Tensor result = alias(written, x.shape(), x->strides);
  if (strided)
    strided->backward = [](Backward& b) {
      const Tensor& gradient = b.gradient();
      b.give(0, allocate(gradient.shape(), gradient.dtype(), {&strided_rule}));
    };
  finish_node(strided, result);
  return result;
}

bool compiled() { return active_run().compiled_region != 0; }

/// The mask of one layer: numbers to add to the scores, and what the forward holds beside them.
Locals gemma2_mask(const Size& s, bool slides) {
  const Place place("attention mask");
  const auto square = [&](DType dtype) { return allocate({s, s}, dtype, {&mask_rule}); };
  Tensor mask;
  {
    Tensor allowed;
    {
      const Tensor ones = square(DType::boolean);
      allowed = square(DType::boolean);
    }
    const Tensor forbidden = square(DType::boolean);
    mask = square(DType::float32);
  }
  if (!slides) return {mask};
  const Tensor ones = square(DType::float32);
  Tensor window;
  {
    const Tensor upper = square(DType::float32);
    const Tensor lower = square(DType::float32);
    window = square(DType::float32);
  }
  const Tensor inside = square(DType::boolean);
  mask = square(DType::float32);
  return {mask, ones, window};
}

}  // namespace

bool turns_halves(const Model& m) { return m.model_type == "qwen2" || m.model_type == "phi3"; }

bool has_tables_in_layers(const Model& m) {
  const bool shared = m.model_type == "llama" && (m.max_position_embeddings > 8192 || m.tie_word_embeddings);
  return active_run().settings.fine_tuning.rank > 0 && !shared;
}

RotaryTables::RotaryTables(const Model& m) {
  const Set<Component> component(active_run().component, Component::weights);
  const Size width = m.head_dim;
  const Size positions = m.max_position_embeddings;
  const Shape turns = turns_halves(m) ? Shape{positions, width * 2} : Shape{positions, width / 2, 2};
  frequencies_ = allocate({width / 2}, DType::float32, {&buffer_rule, "rotary frequencies"});
  table_ = allocate(turns, DType::float32, {&buffer_rule, "rotary tables"});
  note_kept(frequencies_, buffer_rule);
  note_kept(table_, buffer_rule);
}

Tensor RotaryTables::first(const Size& positions) const {
  const Tensor table = slice(table_, 0, 0, positions);
  return unsqueeze(unsqueeze(table, 1), 0);
}

SelfAttention::SelfAttention(const Model& m, DType dtype, std::int64_t layer) : model_(m) {
  const Size h = m.hidden_size;
  const Size d = m.head_dim;
  const Size a = m.num_attention_heads;
  const Size k = m.num_key_value_heads;
  query_ = Linear(h, a * d, m.attention_bias, dtype, "query");
  key_ = Linear(h, k * d, m.attention_bias, dtype, "key");
  value_ = Linear(h, k * d, m.attention_bias, dtype, "value");
  output_ = Linear(a * d, h, false, dtype, "attention projection");
  if (has_tables_in_layers(m)) tables_.emplace(m);
  slides_ = m.sliding_window > 0 && layer % 2 == 0;
}

Tensor SelfAttention::turn(const Tensor& x, const Tensor& table) const {
  if (compiled()) return compiled_rotary(x);
  if (!turns_halves(model_)) return turn_pairs(x, table);
  return model_.model_type == "phi3" ? turn_halves_in_fp32(x, table) : turn_halves(x, table);
}

Tensor SelfAttention::operator()(const Tensor& x, const BlockInputs& inputs) const {
  const Place place("attention");
  const Size s = x.size(1);
  const Tensor table = tables_ ? tables_->first(s) : inputs.cos;
  Tensor query = query_(x);
  query = view(query, {x.size(0), s, model_.num_attention_heads, model_.head_dim});
  query = turn(query, table);
  query = transpose(query, 1, 2);
  if (model_.model_type == "gemma2") return output_(gemma2(std::move(query), x, table));
  return fused(query, x, table, inputs.attention);
}

/// MultiHeadAttention.forward, from the key on.
Tensor SelfAttention::fused(const Tensor& query, const Tensor& x, const Tensor& table, AttentionKernel kernel) const {
  const Size d = model_.head_dim;
  const Size a = model_.num_attention_heads;
  const Size k = model_.num_key_value_heads;
  const Size b = x.size(0);
  const Size s = x.size(1);
  Tensor key = key_(x);
  Tensor value = value_(x);
  key = view(key, {b, s, k, d});
  value = view(value, {b, s, k, d});
  key = turn(key, table);
  key = transpose(key, 1, 2);
  value = transpose(value, 1, 2);
  key = transformers::repeat_kv(key, a / k);
  value = transformers::repeat_kv(value, a / k);
  ScaledDotProduct call;
  call.dropout = model_.attention_dropout;
  call.forced_math = kernel == AttentionKernel::sdpa_math;
  Tensor output = scaled_dot_product_attention(query, key, value, call);
  output = view(contiguous(transpose(output, 1, 2)), {b, s, a * d});
  return output_(output);
}

/// Gemma2Attention.forward, from the key on: written out, with a mask of its own.
Tensor SelfAttention::gemma2(Tensor query, const Tensor& x, const Tensor& table) const {
  const Size d = model_.head_dim;
  const Size a = model_.num_attention_heads;
  const Size k = model_.num_key_value_heads;
  const Size b = x.size(0);
  const Size s = x.size(1);
  Tensor key = key_(x);
  Tensor value = value_(x);
  key = view(key, {b, s, k, d});
  key = turn(key, table);
  const auto heads = [&](const Tensor& given) {
    const Tensor apart = expand(view(given, {b, s, k, 1, d}), {b, s, k, a / k, d});
    return reshape(apart, {b, s, a, d});
  };
  key = heads(key);
  value = heads(value);
  key = transpose(key, 1, 2);
  value = transpose(value, 1, 2);
  query = scale_view_in_place(std::move(query));
  Tensor output = matmul(query, transpose(key, 2, 3));
  const Locals mask = gemma2_mask(s, slides_);
  if (model_.attn_logit_softcapping > 0) {
    output = multiply_number(output);
    output = tanh(output);
    output = multiply_number(output);
  }
  output = output + mask[0];
  output = to(softmax(to(output, DType::float32)), query.dtype());
  output = matmul(output, value);
  return view(contiguous(transpose(output, 1, 2)), {b, s, a * d});
}

}  // namespace trainmem::torchtune
