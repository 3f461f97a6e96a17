#include "engine/blocks/transformers/parts.h"

#include "engine/blocks/transformers/padding.h"

namespace trainmem::transformers {

namespace {

constexpr Rule arange_rule{"positions", "token positions",
                           "transformers models/llama/modeling_llama.py: LlamaModel.forward"};
constexpr Rule mask_rule{"causal mask", "added to the scores of every block",
                         "transformers masking_utils.py: eager_mask, sdpa_mask"};

}  // namespace

Tensor position_ids(Size s) {
  const Tensor range = allocate({s}, DType::int64, {&arange_rule});
  return allocate({s}, DType::int64, {&arange_rule, "positions"});
}

Tensor causal_mask(Size batch, Size s, DType dtype, AttentionKernel kernel, bool sliding) {
  const bool eager = kernel == AttentionKernel::eager;
  const ModelSettings& settings = active_run().settings;
  const Place place("attention mask");
  if (kernel == AttentionKernel::flash)
    return settings.padding ? allocate({batch, s}, DType::boolean, {&mask_rule, "mask of tokens"}) : Tensor();
  if (!eager && !sliding && !settings.padding) return {};
  const Shape shape{batch, 1, s, s};
  Tensor allowed;
  {
    Tensor of_tokens;  // the mask that the model was given
    if (settings.padding) of_tokens = allocate({batch, s}, DType::boolean, {&mask_rule});
    const Tensor batches = allocate({batch}, DType::int64, {&mask_rule});
    const Tensor heads = allocate({1}, DType::int64, {&mask_rule});
    const Tensor queries = position_ids(s);
    const Tensor keys = position_ids(s);
    const auto allowing = [&] { return allocate({1, 1, s, s}, DType::boolean, {&mask_rule}); };
    Tensor earlier;
    if (sliding) {  // and_masks: a boolean and the window, then these two and what is past
      earlier = allowing();
      earlier = allowing();
    }
    allowed = allowing();
    if (sliding) allowed = allowing();
    if (settings.takes_attention_mask) {  // masking_utils.py: padding_mask_function
      if (settings.padding) allowed = allowing();
      const Tensor attended = allocate({batch, 1, 1, s}, DType::boolean, {&mask_rule});
      allowed = allocate(shape, DType::boolean, {&mask_rule, "causal mask"});
    }
  }
  allowed = expand(std::move(allowed), shape);
  if (!eager) return allowed;
  const Tensor zero = allocate({}, dtype, {&mask_rule});
  const Tensor lowest = allocate({}, dtype, {&mask_rule});
  Tensor mask = allocate(shape, dtype, {&mask_rule, "causal mask"});
  note_kept(mask, mask_rule);
  return mask;
}

bool needs_sliding_mask(const Model& m, Size s, AttentionKernel kernel) {
  // A window as long as the sequence still makes a mask.
  return m.sliding_window > 0 &&
         (kernel == AttentionKernel::eager || s >= m.sliding_window || active_run().settings.padding);
}

Tensor repeat_kv(const Tensor& x, Size times) {
  if (times == 1) return x;
  const Shape& s = x.shape();
  const Tensor apart = colons(unsqueeze(colons(x, 2), 2), 2);  // hidden_states[:, :, None, :, :]
  return reshape(expand(apart, {s[0], s[1], times, s[2], s[3]}), {s[0], s[1] * times, s[2], s[3]});
}

Tensor attention(Tensor query, Tensor key, Tensor value, const Tensor& mask, AttentionKernel kernel,
                 const AttentionOptions& options, Tensor& weights) {
  const Size groups = query.size(1) / key.size(1);
  if (kernel != AttentionKernel::eager) {
    ScaledDotProduct call;
    call.window = options.window;
    call.dropout = options.dropout;
    if (kernel == AttentionKernel::flash && mask.defined()) {
      call.grouped = groups != 1;
      return unpadded_attention(query, key, value, call);
    }
    call.mask = mask;
    call.causal = !mask.defined();
    call.forced_math = kernel == AttentionKernel::sdpa_math;
    const bool repeated = mask.defined() || options.repeated_heads;
    call.grouped = groups != 1 && !repeated;
    if (repeated) {
      key = repeat_kv(key, groups);
      value = repeat_kv(value, groups);
    }
    return contiguous(
        transpose(scaled_dot_product_attention(std::move(query), std::move(key), std::move(value), call), 1, 2));
  }
  const DType dtype = query.dtype();
  key = repeat_kv(key, groups);
  value = repeat_kv(value, groups);
  weights = multiply_number(matmul(query, transpose(key, 2, 3)));
  if (options.softcapping > 0) weights = multiply_number(tanh(multiply_number(std::move(weights))));
  if (mask.defined()) weights = weights + mask;
  // A variable that is assigned anew holds its old tensor until the new one is there.
  weights = options.plain_softmax ? softmax(weights) : to(softmax(weights, DType::float32), dtype);
  weights = dropout(weights, options.dropout);
  return contiguous(transpose(matmul(weights, value), 1, 2));
}

Tensor activate(Tensor x, Activation activation) {
  if (active_run().compiled_region != 0) return compiled_activation(std::move(x));
  switch (activation) {
    case Activation::silu: return silu(std::move(x));
    case Activation::relu: return relu(std::move(x));
    case Activation::relu2: {
      const Tensor positive = relu(x);
      return square(positive);
    }
    case Activation::gelu_new: {
      // transformers activations.py, NewGELUActivation: 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
      Tensor half = multiply_number(x);
      Tensor inner = multiply_number(x + multiply_number(cube(x)));
      return std::move(half) * add_number(tanh(std::move(inner)));
    }
    case Activation::gelu_fast: {
      // FastGELUActivation: 0.5 * x * (1 + tanh(x * 0.7978845608 * (1 + 0.044715 * x * x)))
      Tensor half = multiply_number(x);
      Tensor inner = multiply_number(x);
      inner = std::move(inner) * add_number(multiply_number(x) * x);
      return std::move(half) * add_number(tanh(std::move(inner)));
    }
    case Activation::gelu:
    case Activation::gelu_pytorch_tanh:
    case Activation::xielu:  // has parameters of its own: xielu.h
    case Activation::clamped_swiglu: return gelu(std::move(x));
  }
  return x;
}

Tensor dropout_add(const Tensor& x, const Tensor& residual, double probability) {
  const Tensor out = dropout(x, probability);
  return residual + out;
}

Tensor split_heads(Tensor x, Size heads, Size width) {
  const Shape shape{x.size(0), x.size(1), heads, width};
  return transpose(view(std::move(x), shape), 1, 2);
}

}  // namespace trainmem::transformers
