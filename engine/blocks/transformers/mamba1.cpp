// Layers of the first Mamba: models/mamba/modeling_mamba.py (release 5.16), MambaMixer in training; falcon_mamba
// normalises time steps, B and C, jamba (models/jamba) with weights.
//
// b: sequences, s: tokens, i: channels, n: states of a channel.
#include <array>
#include <utility>

#include "engine/blocks/transformers/chunks.h"
#include "engine/blocks/transformers/mamba.h"
#include "engine/blocks/transformers/padding.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/convolution.h"
#include "engine/tensor/mamba_scan.h"
#include "engine/tensor/run.h"
#include "engine/tensor/selective_scan.h"
#include "engine/tensor/token_steps.h"

namespace trainmem::transformers {

namespace {

constexpr const char* source = "transformers models/mamba/modeling_mamba.py: mamba_selective_scan";
constexpr Rule recurrence_rule{"recurrence", "states of every token: its backward needs them", source};
constexpr Rule norm_rule{"norm weight", "a buffer that the kernels read",
                         "transformers models/falcon_mamba/modeling_falcon_mamba.py: FalconMambaWeightlessRMSNorm"};

/// States of one token after another, and what they give: the loop of mamba_selective_scan. All but two tokens are one
/// operation, which keeps what theirs would. Every token's backward gives its part of the decays and of the inputs in
/// tensors of zeros of their whole size: no later token has more of them at once than the last but one.
class Recurrence {
 public:
  Recurrence(const Tensor& decays, const Tensor& inputs, const Tensor& out, DType dtype)
      : decays_(decays), inputs_(inputs), out_(out), dtype_(dtype) {
    const std::int64_t tokens = decays.size(2);
    state_ = allocate({decays.size(0), decays.size(1), decays.size(3)}, dtype, {&recurrence_rule, "first state"});
    if (tokens > 2) pass(tokens - 2);
    for (std::int64_t i = 0; i < tokens && i < 2; ++i) step();
  }
  /// (b, i, s); what was put together stays as long as this.
  Tensor result() const { return concatenate(parts_, 2); }

 private:
  /// x[:, :, token].
  static Tensor last_at_token(const Tensor& x) { return select(whole_slice(whole_slice(x)), 2, 0); }

  void step() {
    Tensor decay = last_at_token(decays_);
    Tensor faded = multiply(std::move(decay), state_);
    Tensor input = last_at_token(inputs_);
    state_ = add(std::move(faded), std::move(input));
    const Tensor low = to(state_, dtype_);
    const Tensor read = unsqueeze(whole_slice(at_token(out_)), 2);
    parts_.push_back(unsqueeze(last_at_token(bmm(low, read)), 2));
  }

  void pass(std::int64_t tokens) {
    const Shape one = state_.shape();
    const Ref<Node> node = begin_node(recurrence_rule, {&decays_, &inputs_, &out_});
    keep(node, state_);
    const bool kept = node && !state_.sole_owner();  // a first forward of what is recomputed drops them one by one
    const auto keep_states = [&](std::int64_t count, const Size& width, DType dtype) {
      keep(node, allocate({one[0], width, kept ? count : 1, one[2]}, dtype, {&recurrence_rule, "states"}));
    };
    if (tokens > 1) keep_states(tokens - 1, one[1], DType::float32);
    state_ = allocate(one, DType::float32, {&recurrence_rule, "states"});
    if (dtype_ == DType::float32)
      keep(node, state_);
    else
      keep_states(tokens, one[1], dtype_);
    if (out_.dtype() == dtype_)
      keep(node, out_);
    else
      keep_states(tokens, 1, dtype_);  // C as autocast casts it
    parts_.push_back(allocate({one[0], one[1], tokens}, dtype_, {&recurrence_rule, "scan"}));
    if (node) node->backward = [](Backward&) {};
    finish_node(node, parts_[0]);
    finish_node(node, state_);
  }

  const Tensor& decays_;
  const Tensor& inputs_;
  const Tensor& out_;
  DType dtype_;
  Tensor state_;
  std::vector<Tensor> parts_;
};

class Mamba1Layer : public AttentionPart {
 public:
  Mamba1Layer(const Model& m, DType dtype) : form_(form_of(m)) {
    const Mamba& sizes = m.mamba;
    const Size width = sizes.n_heads;
    states_ = sizes.d_state;
    rank_ = sizes.time_step_rank;
    logarithm_ = make_parameter({width, states_}, dtype, "A_log");
    skip_ = make_parameter({width}, dtype, "D");
    weights_.convolution = make_parameter({width, 1, sizes.d_conv}, dtype, "convolution weight");
    if (sizes.conv_bias) weights_.convolution_bias = make_parameter({width}, dtype, "convolution bias");
    input_ = Linear(m.hidden_size, Size(2) * width, sizes.proj_bias, dtype, "projected states");
    factors_ = Linear(width, rank_ + Size(2) * states_, false, dtype, "time steps, B and C");
    step_ = Linear(rank_, width, true, dtype, "time steps");
    output_ = Linear(width, m.hidden_size, sizes.proj_bias, dtype, "mixer projection");
    const auto norms = [&](NormLayer::Form form, bool weight) {
      norms_ = {NormLayer(form, {rank_}, weight, false, dtype), NormLayer(form, {states_}, weight, false, dtype),
                NormLayer(form, {states_}, weight, false, dtype)};
    };
    if (form_ == Norms::learned) norms(NormLayer::Form::llama, true);
    if (form_ != Norms::bare) return;
    norms(NormLayer::Form::nanochat, false);
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      buffers_[i] = model_buffer({i == 0 ? width : states_}, dtype, norm_rule);
  }

  Tensor operator()(const Tensor& given, const BlockInputs&, Tensor&) const override {
    const Place place("mamba");
    const Tensor hidden = without_padding(given);
    const Tensor projected = transpose(input_(hidden), 1, 2);
    const Tensor decay = decay_of(logarithm_);
    const bool kernels = active_run().settings.fused.fast_path;
    if (!kernels || form_ == Norms::learned) return in_pieces(projected, decay, hidden.dtype(), kernels);
    SelectiveWeights weights = weights_;
    weights.projection = factors_.weight;
    weights.step = step_.weight;
    weights.output = output_.weight;
    weights.decay = decay;
    weights.skip = to(skip_, DType::float32);
    weights.step_bias = to(step_.bias, DType::float32);
    weights.normed = form_ == Norms::bare;
    return mamba_inner(projected, weights);
  }

 private:
  enum class Norms { none, bare, learned };
  static Norms form_of(const Model& m) {
    if (m.model_type == "mamba") return Norms::none;
    return m.model_type == "falcon_mamba" ? Norms::bare : Norms::learned;
  }

  Tensor in_pieces(const Tensor& projected, const Tensor& decay, DType dtype, bool kernels) const {
    const Size width = skip_.size(0);
    const std::vector<Tensor> halves = split(projected, {width, width}, 1);
    const Tensor& bias = weights_.convolution_bias;
    Tensor by_token = transpose(kernels ? causal_conv1d(halves[0], weights_.convolution, bias)
                                        : causal_convolution(halves[0], weights_.convolution, bias),
                                1, 2);
    by_token = without_padding(by_token);
    const Tensor mixed = transpose(by_token, 1, 2);
    std::vector<Tensor> parts = split(factors_(by_token), {rank_, states_, states_}, -1);
    if (form_ != Norms::none)
      for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = norms_[i](parts[i]);
    const Tensor steps = contiguous(transpose(linear(std::move(parts[0]), step_.weight), 1, 2), "time steps");
    const Tensor step_bias = to(step_.bias, DType::float32);
    Tensor scanned;
    if (kernels) {
      const Tensor skip = to(skip_, DType::float32);
      scanned = selective_scan({mixed, steps, decay, parts[1], parts[2], skip, halves[1], step_bias});
    } else {
      scanned = scan(mixed, steps, decay, parts[1], parts[2], step_bias, halves[1]);
    }
    return output_(to(transpose(scanned, 1, 2), dtype));
  }

  /// mamba_selective_scan.
  Tensor scan(const Tensor& hidden, Tensor step, const Tensor& decay, const Tensor& in, const Tensor& out,
              const Tensor& step_bias, const Tensor& gate) const {
    const Tensor skip = to(skip_, DType::float32);
    Tensor bias = unsqueeze(to(step_bias, step.dtype()), 1);
    step = add(std::move(step), std::move(bias));
    step = softplus(std::move(step));
    Tensor factor = view(decay, {1, decay.size(0), 1, decay.size(1)});
    Tensor of_step = unsqueeze(step, 3);
    const Tensor decays = exp(multiply(std::move(factor), std::move(of_step)));
    of_step = unsqueeze(step, 3);
    factor = to(unsqueeze(in, 1), DType::float32);
    const Tensor inputs = multiply(std::move(of_step), std::move(factor));
    factor = to(unsqueeze(hidden, 3), DType::float32);
    const Tensor given = multiply(inputs, std::move(factor));
    const Recurrence recurrence(decays, given, out, hidden.dtype());
    Tensor result = recurrence.result();
    {
      const Tensor skipped = multiply(hidden, view(skip, {1, skip.size(0), 1}));
      result = add(std::move(result), skipped);
    }
    return multiply(std::move(result), silu(gate));
  }

  Norms form_;
  Size states_, rank_;
  SelectiveWeights weights_;
  Tensor logarithm_, skip_;
  Linear input_, factors_, step_, output_;
  std::array<NormLayer, 3> norms_;
  std::array<Tensor, 3> buffers_;
};

}  // namespace

std::unique_ptr<AttentionPart> make_mamba1(const Model& m, DType dtype) {
  return std::make_unique<Mamba1Layer>(m, dtype);
}

}  // namespace trainmem::transformers
