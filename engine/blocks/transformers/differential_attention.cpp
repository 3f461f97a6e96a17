// models/diffllama/modeling_diffllama.py: DiffLlamaAttention.
#include "engine/blocks/transformers/differential_attention.h"

namespace trainmem::transformers {

DifferentialAttention::DifferentialAttention(Size head_dim, DType dtype)
    : first_query_(make_parameter({head_dim}, dtype, "lambda")),
      first_key_(make_parameter({head_dim}, dtype, "lambda")),
      second_query_(make_parameter({head_dim}, dtype, "lambda")),
      second_key_(make_parameter({head_dim}, dtype, "lambda")),
      // torch.nn.RMSNorm in pieces: pytorch 2.6 aten/src/ATen/native/layer_norm.cpp, rms_norm_symint.
      norm_(NormLayer::Form::nanochat, {head_dim * Size(2)}, false, false, dtype) {}

Tensor DifferentialAttention::factor(DType dtype) const {
  const auto of = [&](const Tensor& query, const Tensor& key) {
    return to(exp(sum(to(query * key, DType::float32), 0)), dtype);
  };
  const Tensor first = of(first_query_, first_key_);
  const Tensor second = of(second_query_, second_key_);
  return add_number(subtract(first, second));
}

Tensor DifferentialAttention::operator()(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                         AttentionKernel kernel, const AttentionOptions& options,
                                         Tensor& weights) const {
  const Size half = v.size(1) / 2;
  const std::vector<Tensor> halves = split(v, {half, half}, 1);
  const auto twice = [](const Tensor& x) { return concatenate({x, x}, 1); };
  const Tensor first_values = twice(halves[0]);
  const Tensor second_values = twice(halves[1]);
  Tensor second_weights;
  Tensor out;
  std::vector<Tensor> parts;
  {
    const Tensor first = attention(q, k, first_values, mask, kernel, options, weights);
    const Tensor second = attention(q, k, second_values, mask, kernel, options, second_weights);
    out = concatenate({first, second}, -1);
  }
  const Size pairs = out.size(2) / 2;
  parts = split(out, {pairs, pairs}, 2);
  const Tensor learned = factor(q.dtype());
  out = subtract(parts[0], multiply(learned, parts[1]));
  out = multiply_number(norm_(out));
  return out;
}

}  // namespace trainmem::transformers
