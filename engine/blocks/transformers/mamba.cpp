// models/granitemoehybrid/modeling_granitemoehybrid.py: GraniteMoeHybridMambaLayer.cuda_kernels_forward in training.
#include "engine/blocks/transformers/mamba.h"

#include "engine/tensor/mamba_scan.h"

namespace trainmem::transformers {

namespace {

class MambaLayer : public AttentionPart {
 public:
  MambaLayer(const Model& m, DType dtype) : sizes_(m.mamba) {
    const Size heads = m.mamba.n_heads;
    const Size width = heads * Size(m.mamba.d_head);
    const Size channels = width + Size(2) * Size(m.mamba.n_groups) * Size(m.mamba.d_state);
    weights_.step_bias = make_parameter({heads}, dtype, "dt_bias");
    logarithm_ = make_parameter({heads}, dtype, "A_log");
    weights_.skip = make_parameter({heads}, dtype, "D");
    weights_.convolution = make_parameter({channels, 1, m.mamba.d_conv}, dtype, "convolution weight");
    if (m.mamba.conv_bias) weights_.convolution_bias = make_parameter({channels}, dtype, "convolution bias");
    input_ = Linear(m.hidden_size, width + channels + heads, m.mamba.proj_bias, dtype, "projected states");
    weights_.norm = make_parameter({width}, dtype, "gated norm weight");
    weights_.output = make_parameter({m.hidden_size, width}, dtype, "mixer projection weight");
    if (m.mamba.proj_bias) weights_.output_bias = make_parameter({m.hidden_size}, dtype, "mixer projection bias");
  }

  Tensor operator()(const Tensor& hidden, const BlockInputs&, Tensor&) const override {
    const Place place("mamba");
    const Tensor projected = input_(hidden);
    MambaWeights weights = weights_;
    weights.decay = decay_of(logarithm_);
    return mamba_split_conv1d_scan(projected, weights, sizes_);
  }

 private:
  Mamba sizes_;
  MambaWeights weights_;
  Tensor logarithm_;
  Linear input_;
};

}  // namespace

std::unique_ptr<AttentionPart> make_mamba(const Model& m, DType dtype) {
  return std::make_unique<MambaLayer>(m, dtype);
}

}  // namespace trainmem::transformers
