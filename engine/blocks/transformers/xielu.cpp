#include "engine/blocks/transformers/xielu.h"

#include <utility>

#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr Rule buffer_rule{"beta and eps", "numbers of the activation: buffers of each MLP",
                           "transformers activations.py: XIELUActivation.__init__"};

}  // namespace

Xielu::Xielu(DType dtype)
    : positive_(make_parameter({1}, dtype, "activation")),
      negative_(make_parameter({1}, dtype, "activation")),
      beta_(model_buffer({}, dtype, buffer_rule, "activation buffers")),
      epsilon_(model_buffer({}, dtype, buffer_rule, "activation buffers")) {}

Tensor Xielu::operator()(const Tensor& x) const {
  const Tensor alpha_p = softplus(positive_);
  const Tensor alpha_n = beta_ + softplus(negative_);
  const Tensor condition = greater_than_number(x);
  Tensor above;
  {
    const Tensor squared = (alpha_p * x) * x;
    const Tensor linear = beta_ * x;
    above = squared + linear;
  }
  Tensor below;
  {
    const Tensor curved = subtract(expm1(minimum_with(x, epsilon_)), x) * alpha_n;
    const Tensor linear = beta_ * x;
    below = curved + linear;
  }
  return where(condition, std::move(above), std::move(below));
}

}  // namespace trainmem::transformers
