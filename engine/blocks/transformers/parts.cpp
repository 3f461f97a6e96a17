#include "engine/blocks/transformers/parts.h"

namespace trainmem::transformers {

namespace {

constexpr Rule arange_rule{"positions", "token positions",
                           "transformers models/llama/modeling_llama.py: LlamaModel.forward"};
constexpr Rule mask_rule{"causal mask", "added to the scores of every block",
                         "transformers masking_utils.py: eager_mask, sdpa_mask"};

}  // namespace

Linear::Linear(Size in, Size out, bool with_bias, DType dtype, const char* name)
    : role(name), split(weight_split(name)) {
  const Run& run = active_run();
  if (is_quantized(name)) {
    quantized = make_quantized_weight(out, in, run.settings.fine_tuning.quantization == Quantization::nf4_double, name);
    if (dtype != DType::float32) computation = dtype;
  } else {
    weight = make_parameter({out, in}, dtype, name);
  }
  if (with_bias) bias = make_parameter({out}, dtype, name);
  adapter = make_adapter(in, out, name);
}

namespace {

/// A module's argument lives until the module has returned, whatever its hooks and its forward make of it
/// (torch/nn/modules/module.py: _wrapped_call_impl). Compiled code lets go of it after its last use.
Tensor held_by_call(const Tensor& x) { return active_run().compiled_region == 0 ? x : Tensor(); }

}  // namespace

Tensor Linear::operator()(Tensor x) const {
  const Tensor given = held_by_call(x);
  if (quantized.defined()) {
    Tensor base = quantized_linear(x, quantized, computation, role);
    if (!adapter.defined()) return base;
    base = clone(std::move(base));  // peft/tuners/lora/bnb.py: Linear4bit.forward
    return adapter(std::move(base), x);
  }
  if (split == WeightSplit::columns) x = column_input(std::move(x));
  if (split == WeightSplit::rows) return reduce_rows(linear(std::move(x), weight, bias, role));
  if (!adapter.defined()) return linear(std::move(x), weight, bias, role);
  Tensor base = linear(x, weight, bias, role);
  return adapter(std::move(base), x);
}

Tensor language_head(const Linear& head, Tensor hidden) {
  const Tensor given = held_by_call(hidden);
  const Tensor gathered = gather_sequence(std::move(hidden));
  return gather_logits(head(gathered));
}

Conv1D::Conv1D(Size in, Size out, DType dtype, const char* name) : role(name) {
  if (is_quantized(name)) {
    quantized = Linear(in, out, true, dtype, name);
    return;
  }
  weight = make_parameter({in, out}, dtype, name);
  bias = make_parameter({out}, dtype, name);
  adapter = make_adapter(in, out, name);
}

Tensor Conv1D::operator()(Tensor x) const {
  if (quantized.quantized.defined()) return quantized(std::move(x));
  if (!adapter.defined()) return conv1d(std::move(x), weight, bias, role);
  Tensor base = conv1d(x, weight, bias, role);
  return adapter(std::move(base), x);
}

Tensor input_embeddings(const Tensor& table, const Tensor& ids) {
  if (active_run().settings.tensor_parallel.size > 1) return vocabulary_embedding(table, ids);
  Tensor embedded = embedding(table, ids);
  return active_run().settings.inputs_want_gradient ? require_gradient(std::move(embedded)) : embedded;
}

NormLayer::NormLayer(Form norm_form, Shape shape, bool with_weight, bool with_bias, DType dtype) : form(norm_form) {
  const Set<std::int32_t> group(active_run().new_parameters.group, replicated_parameter_group());
  if (with_weight) weight = make_parameter(shape, dtype, "norm");
  if (with_bias) bias = make_parameter(shape, dtype, "norm");
}

namespace {

/// models/llama/modeling_llama.py: LlamaRMSNorm. OLMo 2 multiplies with the weight before it casts.
Tensor llama_norm(const Tensor& x, const Tensor& weight, bool cast_last) {
  Tensor hidden = to(x, DType::float32);
  const Tensor variance = mean_last(square(hidden));
  hidden = hidden * rsqrt(add_number(variance));
  if (cast_last) return to(weight * hidden, x.dtype());
  return weight * to(hidden, x.dtype());
}

/// torchtitan models/norms.py, before torch.nn.RMSNorm: RMSNorm.
Tensor torchtitan_norm(const Tensor& x, const Tensor& weight) {
  const Tensor hidden = to(x, DType::float32);
  return to(hidden * rsqrt(add_number(mean_last(square(hidden)))), x.dtype()) * weight;
}

/// torchtune modules/rms_norm.py: rms_norm() of a cast, written out by pytorch aten/src/ATen/native/layer_norm.cpp,
/// rms_norm_symint, which adds epsilon in place.
Tensor torchtune_norm(const Tensor& x, const Tensor& weight) {
  Tensor normed;
  {
    const Tensor hidden = to(x, DType::float32);
    Tensor inverse;
    {
      const Tensor squares = square(hidden);
      inverse = rsqrt(mean_last(squares));
    }
    normed = hidden * inverse;
    normed = normed * weight;
  }
  return to(std::move(normed), x.dtype());
}

/// models/gemma/modeling_gemma.py: GemmaRMSNorm, everything in fp32.
Tensor gemma_norm(const Tensor& x, const Tensor& weight) {
  Tensor hidden = to(x, DType::float32);
  Tensor output = hidden * rsqrt(add_number(mean_last(square(hidden))));
  hidden.reset();
  output = output * add_number(to(weight, DType::float32));
  return to(output, x.dtype());
}

/// models/cohere/modeling_cohere.py: CohereLayerNorm, written out in fp32.
Tensor cohere_norm(const Tensor& x, const Tensor& weight) {
  Tensor hidden = to(x, DType::float32);
  const Tensor mean = mean_last(hidden);
  const Tensor variance = mean_last(square(subtract(hidden, mean)));
  Tensor centred = subtract(hidden, mean);
  hidden = std::move(centred) * rsqrt(add_number(variance));
  hidden = to(weight, DType::float32) * hidden;
  return to(hidden, x.dtype());
}

/// models/helium/modeling_helium.py: HeliumRMSNorm, multiplied with the weight in fp32.
Tensor helium_norm(const Tensor& x, const Tensor& weight) {
  Tensor hidden = to(x, DType::float32);
  const Tensor variance = mean_last(square(hidden));
  hidden = hidden * rsqrt(add_number(variance));
  return to(to(weight, DType::float32) * hidden, x.dtype());
}

/// models/nanochat/modeling_nanochat.py: NanoChatRMSNorm, which has no weight.
Tensor nanochat_norm(const Tensor& x) {
  Tensor normed;
  {
    const Tensor hidden = to(x, DType::float32);
    normed = hidden * rsqrt(add_number(mean_last(square(hidden))));
  }
  return to(normed, x.dtype());
}

/// models/nemotron/modeling_nemotron.py: NemotronLayerNorm1P, in 16 bits under autocast.
Tensor nemotron_norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor scale = add_number(weight);
  const Autocast autocast = active_run().autocast;
  if (!autocast.enabled) return layer_norm(x, scale, bias);
  const Tensor low_x = to(x, autocast.dtype);
  const Tensor low_scale = to(scale, autocast.dtype);
  const Tensor low_bias = to(bias, autocast.dtype);
  const Set<bool> off(active_run().autocast.enabled, false);
  return layer_norm(low_x, low_scale, low_bias);
}

}  // namespace

Tensor NormLayer::operator()(Tensor argument) const {
  const Tensor x = std::move(argument);  // a module's argument lives until the module returns
  Run& run = active_run();
  const Set<bool> distributed(run.distributed, run.settings.tensor_parallel.sequence);
  if (run.compiled_region != 0)
    return form == Form::layer_norm ? compiled_layer_norm(x, weight, bias) : compiled_rms_norm(x, weight);
  switch (form) {
    case Form::layer_norm: return layer_norm(x, weight, bias);
    case Form::fused: return fused_rms_norm(x, weight);
    case Form::liger_in_place: return liger_rms_norm(x, weight, true);
    case Form::liger: return liger_rms_norm(x, weight, false);
    case Form::torchtitan: return torchtitan_norm(x, weight);
    case Form::torchtune: return torchtune_norm(x, weight);
    case Form::llama: return llama_norm(x, weight, false);
    case Form::olmo2: return llama_norm(x, weight, true);
    case Form::gemma: return gemma_norm(x, weight);
    case Form::olmo: return to(layer_norm(to(x, DType::float32), {}, {}), x.dtype());
    case Form::cohere: return cohere_norm(x, weight);
    case Form::nanochat: return nanochat_norm(x);
    case Form::helium: return helium_norm(x, weight);
    case Form::nemotron: return nemotron_norm(x, weight, bias);
  }
  return x;
}

Tensor NormLayer::at(const char* name, Tensor x) const {
  const Place place(name);
  return (*this)(std::move(x));
}

Tensor position_ids(Size s) {
  const Tensor range = allocate({s}, DType::int64, {&arange_rule});
  return allocate({s}, DType::int64, {&arange_rule, "positions"});
}

Tensor causal_mask(Size batch, Size s, DType dtype, AttentionKernel kernel, bool sliding) {
  const bool eager = kernel == AttentionKernel::eager;
  if (kernel == AttentionKernel::flash || (!eager && !sliding)) return {};
  const Place place("attention mask");
  const Shape shape{batch, 1, s, s};
  Tensor allowed;
  {
    const Tensor batches = allocate({batch}, DType::int64, {&mask_rule});
    const Tensor heads = allocate({1}, DType::int64, {&mask_rule});
    const Tensor queries = position_ids(s);
    const Tensor keys = position_ids(s);
    allowed = allocate({1, 1, s, s}, DType::boolean, {&mask_rule});
    if (sliding) {
      const Tensor first = allocate({1, 1, s, s}, DType::boolean, {&mask_rule});
      const Tensor both = allocate({1, 1, s, s}, DType::boolean, {&mask_rule});
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

Tensor repeat_kv(const Tensor& x, Size times) {
  if (times == 1) return x;
  const Shape& s = x.shape();
  return reshape(expand(unsqueeze(x, 2), {s[0], s[1], times, s[2], s[3]}), {s[0], s[1] * times, s[2], s[3]});
}

Tensor attention(Tensor query, Tensor key, Tensor value, const Tensor& mask, AttentionKernel kernel,
                 const AttentionOptions& options, Tensor& weights) {
  const Size groups = query.size(1) / key.size(1);
  if (kernel != AttentionKernel::eager) {
    ScaledDotProduct call;
    call.mask = mask;
    call.causal = !mask.defined();
    call.window = options.window;
    call.dropout = options.dropout;
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
  weights = to(softmax(weights, DType::float32), dtype);
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
