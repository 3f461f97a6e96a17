// models/lfm2/modeling_lfm2.py: Lfm2ShortConv. Channels are convolved over a few tokens, gated before and after.
#include "engine/blocks/transformers/short_convolution.h"

#include "engine/blocks/transformers/padding.h"
#include "engine/tensor/convolution.h"

namespace trainmem::transformers {

namespace {

class ShortConvolution : public AttentionPart {
 public:
  ShortConvolution(const Model& m, DType dtype) : width_(m.hidden_size) {
    const Size h = m.hidden_size;
    weight_ = make_parameter({h, 1, m.conv_kernel_size}, dtype, "convolution weight");
    if (m.conv_bias) bias_ = make_parameter({h}, dtype, "convolution bias");
    input_ = Linear(h, Size(3) * h, m.conv_bias, dtype, "gates and input");
    output_ = Linear(h, h, m.conv_bias, dtype, "convolution projection");
  }

  Tensor operator()(const Tensor& hidden, const BlockInputs&, Tensor&) const override {
    const Place place("convolution");
    const Tensor together = transpose(input_(without_padding(hidden)), 1, 2);
    const std::vector<Tensor> parts = split(together, {width_, width_, width_}, 1);
    const Tensor gated = parts[0] * parts[2];
    const Tensor convolved = active_run().settings.fused.fast_path
                                 ? causal_conv1d(gated, weight_, bias_)
                                 : slice(depthwise_conv1d(gated, weight_, bias_), 2, 0, hidden.size(1));
    Tensor y = parts[1] * convolved;
    y = contiguous(transpose(std::move(y), 1, 2));
    return output_(y);
  }

 private:
  Size width_;
  Tensor weight_, bias_;
  Linear input_, output_;
};

}  // namespace

std::unique_ptr<AttentionPart> make_short_convolution(const Model& m, DType dtype) {
  return std::make_unique<ShortConvolution>(m, dtype);
}

}  // namespace trainmem::transformers
