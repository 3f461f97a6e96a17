// Norms of a model: one kernel, or written out as the frameworks' families write them.
#pragma once

#include "engine/tensor/ops.h"

namespace trainmem {

/// The norm of a model: layer norm in one kernel, or RMSNorm written out as the families write it.
struct NormLayer {
  enum class Form {
    layer_norm,
    llama,
    gemma,
    gemma4,
    olmo,
    olmo2,
    cohere,
    nemotron,
    helium,
    nanochat,
    fused,
    liger_in_place,
    liger,
    torchtitan,
    torchtune
  } form = Form::llama;
  Tensor weight;
  Tensor bias;
  NormLayer() = default;
  NormLayer(Form form, Shape shape, bool with_weight, bool with_bias, DType dtype);
  Tensor operator()(Tensor x) const;
  /// The same, at a named place of the model: "norm before attention".
  Tensor at(const char* place, Tensor x) const;
};

}  // namespace trainmem
