// Alternating updates of Gemma 3n: streams of hidden states side by side, (A, b, s, h). A layer computes one of them,
// and predicts and corrects the others. models/gemma3n/modeling_gemma3n.py: Gemma3nTextAltUp, Gemma3nTextModel.forward.
#pragma once

#include <vector>

#include "engine/blocks/transformers/llama_layers.h"

namespace trainmem::transformers {

/// Of one layer: Gemma3nTextAltUp.
class AltUp {
 public:
  AltUp(const Model& model, const LlamaForm& form, DType dtype);
  Tensor predict(const Tensor& streams) const;
  Tensor correct(const Tensor& predictions, const Tensor& activated) const;
  /// The corrected stream that the layer computed, times a learned vector.
  Tensor scaled(const Tensor& corrected) const;

 private:
  Tensor modalities(const Tensor& x) const;

  Size streams_;
  Tensor output_scale_;
  Tensor correction_;
  Adapter correction_adapter_;  ///< beside the clamped weight, which training takes bare, of no use
  Linear prediction_, router_;
  NormLayer norm_;
  Tensor input_scale_;  ///< a buffer
};

/// Projections of a stream to the others, before the first layer, or back after the last one.
class StreamProjections {
 public:
  StreamProjections() = default;
  StreamProjections(const Model& model, DType dtype, const char* role);
  /// `given`: one for all, or one for each; the others become as large as `measured`, which is the first. `locals` are
  /// variables of the model's forward.
  std::vector<Tensor> operator()(const Tensor& measured, const std::vector<Tensor>& given,
                                 std::vector<Tensor>& locals) const;

 private:
  std::vector<Linear> projections_;
};

/// torch.stack along a new first dimension.
Tensor stack(const std::vector<Tensor>& tensors, const char* role);

/// all[1:] += x, as Python writes it: the sum goes into the slice, and the slice into the whole.
Tensor add_to_others(Tensor all, const Tensor& x);

}  // namespace trainmem::transformers
