// models/granitemoehybrid/modeling_granitemoehybrid.py: GraniteMoeHybridMambaLayer in training; bamba, mamba2 and
// nemotron_h have the same, models/falcon_h1/modeling_falcon_h1.py: FalconH1Mixer multiplies what goes into it.
#include "engine/blocks/transformers/mamba.h"

#include <utility>

#include "engine/blocks/transformers/mamba_chunks.h"
#include "engine/blocks/transformers/padding.h"
#include "engine/tensor/mamba_scan.h"

namespace trainmem::transformers {

namespace {

constexpr Rule scale_rule{"projection scale", "a buffer: a number for each projected channel",
                          "transformers models/falcon_h1/modeling_falcon_h1.py: compute_mup_vector"};

class MambaLayer : public AttentionPart {
 public:
  // Zamba2RMSNormGated; the gated norms of the other classes know no groups.
  MambaLayer(const Model& m, DType dtype)
      : sizes_(m.mamba), norm_of_groups_(m.model_type == "nemotron_h" || m.model_type == "zamba2") {
    const Size heads = m.mamba.n_heads;
    const Size width = heads * Size(m.mamba.d_head);
    const Size channels = width + Size(2) * Size(m.mamba.n_groups) * Size(m.mamba.d_state);
    weights_.step_bias = make_parameter({heads}, dtype, "dt_bias");
    logarithm_ = make_parameter({heads}, dtype, "A_log");
    weights_.skip = make_parameter({heads}, dtype, "D");
    weights_.convolution = make_parameter({channels, 1, m.mamba.d_conv}, dtype, "convolution weight");
    if (m.mamba.conv_bias) weights_.convolution_bias = make_parameter({channels}, dtype, "convolution bias");
    input_ = Linear(m.hidden_size, width + channels + heads, m.mamba.proj_bias, dtype, "projected states");
    if (m.mamba.gated_norm) weights_.norm = make_parameter({width}, dtype, "gated norm weight");
    weights_.output = make_parameter({m.hidden_size, width}, dtype, "mixer projection weight");
    if (m.mamba.proj_bias) weights_.output_bias = make_parameter({m.hidden_size}, dtype, "mixer projection bias");
    output_adapter_ = make_adapter(width, m.hidden_size, "mixer projection");
    if (m.model_type != "falcon_h1") return;
    scale_ = model_buffer({1, 1, width + channels + heads}, dtype, scale_rule);
  }

  Tensor operator()(const Tensor& given, const BlockInputs&, Tensor&) const override {
    const Place place("mamba");
    Tensor hidden = without_padding(given);
    const Tensor projected = project(hidden);
    MambaWeights weights = weights_;
    weights.decay = decay_of(logarithm_);
    if (!active_run().settings.fused.fast_path)
      return mamba_by_operations(projected, weights, sizes_, std::move(hidden), norm_of_groups_, output_adapter_);
    return mamba_split_conv1d_scan(projected, weights, sizes_);
  }

 private:
  Tensor project(Tensor& hidden) const {
    if (!scale_.defined()) return input_(hidden);
    hidden = multiply_number(std::move(hidden));
    return multiply(input_(hidden), scale_, "scaled projected states");
  }

  Mamba sizes_;
  bool norm_of_groups_;
  MambaWeights weights_;
  Tensor logarithm_;
  Tensor scale_;  ///< Falcon-H1's
  Linear input_;
  Adapter output_adapter_;  ///< beside the kernels' scan, which takes the bare weight, of no use
};

}  // namespace

std::unique_ptr<AttentionPart> make_mamba(const Model& m, DType dtype) {
  if (m.mamba.time_step_rank > 0) return make_mamba1(m, dtype);
  return std::make_unique<MambaLayer>(m, dtype);
}

}  // namespace trainmem::transformers
