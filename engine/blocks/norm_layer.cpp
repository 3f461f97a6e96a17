#include "engine/blocks/norm_layer.h"

#include <utility>

#include "engine/parallel/tensor.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"

namespace trainmem {

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

/// models/gemma4/modeling_gemma4.py: Gemma4RMSNorm, everything in fp32, with a power in place of rsqrt.
Tensor gemma4_norm(const Tensor& x, const Tensor& weight) {
  Tensor normed;
  {
    const Tensor hidden = to(x, DType::float32);
    const Tensor mean_squared = add_number(mean_last(square(hidden)));
    normed = hidden * inverse_root(mean_squared);
  }
  if (weight.defined()) normed = normed * to(weight, DType::float32);
  return to(normed, x.dtype());
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
  const Set<bool> distributed(run.new_nodes.distributed, run.settings.tensor_parallel.sequence);
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
    case Form::gemma4: return gemma4_norm(x, weight);
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

}  // namespace trainmem
