// The operations: what each allocates, what it keeps for backward, what its backward allocates.
//
// One file of rules for each family: shape.cpp, pointwise.cpp, cast.cpp, linear.cpp, norm.cpp, softmax.cpp,
// attention.cpp, embedding.cpp, loss.cpp, routing.cpp. Every rule names the line of PyTorch that says so
// (derivatives.yaml: pytorch tools/autograd/derivatives.yaml). Arguments are taken by value: move a tensor in to let go
// of it.
#pragma once

#include <vector>

#include "engine/tensor/autograd.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

// Shape: views allocate nothing.
Tensor view(Tensor x, const Shape& shape);     ///< must be viewable
Tensor reshape(Tensor x, const Shape& shape);  ///< a view if it can be one, else a copy
Tensor transpose(Tensor x, int first, int second);
Tensor expand(Tensor x, const Shape& shape);
Tensor unsqueeze(Tensor x, int dimension);
Tensor slice(Tensor x, int dimension, Size begin, Size end);
Tensor colons(Tensor x, int count);         ///< colons of x[:, ...]: nodes in PyTorch as legacy models ran on it
Tensor every_second(Tensor x, Size begin);  ///< x[..., begin::2]
Tensor select(Tensor x, int dimension, Size index);
Tensor index_one(Tensor x, int dimension);  ///< x[..., [i], ...]: a copy of one slice
std::vector<Tensor> split(Tensor x, const std::vector<Size>& sizes, int dimension);
Tensor concatenate(const std::vector<Tensor>& parts, int dimension, const char* role = nullptr);
Tensor contiguous(Tensor x, const char* role = nullptr);
Tensor clone(Tensor x);  ///< a copy, differentiable
Tensor clone_contiguous(Tensor x);

// Pointwise.
Tensor add(Tensor a, Tensor b, const char* role = nullptr);
Tensor add_in_place(Tensor a, Tensor b);  ///< a += b
Tensor add_number(Tensor x, const char* role = nullptr);
Tensor subtract(Tensor a, Tensor b);
Tensor multiply(Tensor a, Tensor b, const char* role = nullptr);
Tensor multiply_in_place(Tensor a, const Tensor& b);           ///< a *= b, which wants no gradient
Tensor multiply_number(Tensor x, const char* role = nullptr);  ///< or divide by one
Tensor multiply_complex(Tensor x, const Tensor& table);        ///< neighbours in x as one number; the table is constant
Tensor negate(Tensor x);
Tensor square(Tensor x);        ///< pow(2)
Tensor cube(Tensor x);          ///< pow(3)
Tensor inverse_root(Tensor x);  ///< pow(-0.5)
Tensor rsqrt(Tensor x);
Tensor mean_last(Tensor x);  ///< mean over the last dimension, kept as 1
Tensor silu(Tensor x);
Tensor gelu(Tensor x);  ///< one kernel, erf or tanh
Tensor relu(Tensor x);
Tensor tanh(Tensor x);
Tensor sigmoid(Tensor x);
Tensor clamp(Tensor x, int limits = 2);  ///< between two numbers, or on one side of one
Tensor clamp_in_place(Tensor x);         ///< between two numbers
// In pieces, piecewise.cpp.
Tensor softplus(Tensor x);
Tensor exp(Tensor x);
Tensor expm1(Tensor x);
Tensor greater_than_number(const Tensor& x);         ///< where it is, 1 byte an element
Tensor minimum_with(Tensor x, const Tensor& bound);  ///< a bound that wants no gradient
Tensor where(const Tensor& condition, Tensor a, Tensor b);
Tensor dropout(Tensor x, double probability);
Tensor masked_fill(Tensor x, const Tensor& mask);  ///< with a number
inline Tensor operator+(Tensor a, Tensor b) { return add(std::move(a), std::move(b)); }
inline Tensor operator*(Tensor a, Tensor b) { return multiply(std::move(a), std::move(b)); }

// Casts.
Tensor to(Tensor x, DType dtype, const char* role = nullptr);  ///< itself if it has that format
DType promote(DType a, DType b);
/// Under autocast: the format that matrix multiplications compute in. Weights' copies are cached.
Tensor autocast_low(Tensor x);
/// Under autocast: fp32 for operations of the fp32 list.
Tensor autocast_fp32(Tensor x);

// Linear algebra.
Tensor linear(Tensor x, const Tensor& weight, const Tensor& bias = {}, const char* role = nullptr);
/// transformers' Conv1D: weight is (in, out).
Tensor conv1d(Tensor x, const Tensor& weight, const Tensor& bias, const char* role = nullptr);
/// Batched product over the last two dimensions of 4-dimensional tensors, as torch.matmul does it.
Tensor matmul(Tensor a, Tensor b, const char* role = nullptr);
Tensor bmm(Tensor a, Tensor b, const char* role = nullptr);
/// baddbmm with a broadcast input that wants no gradient.
Tensor baddbmm(Tensor input, Tensor a, Tensor b, const char* role = nullptr);

// Frozen weights in 4 bits.
struct QuantizedWeight {
  std::vector<Tensor> tensors;  ///< packed weights and their scales
  Tensor packed;                ///< the packed weights, if they are a parameter that is sharded
  Size out;
  Size in;
  bool defined() const { return !tensors.empty(); }
};
QuantizedWeight make_quantized_weight(Size out, Size in, bool double_quantization, const char* name);
/// x times the weight, which is unpacked to `computation` for the length of the product.
Tensor quantized_linear(Tensor x, const QuantizedWeight& weight, DType computation, const char* role = nullptr);

// Norms.
Tensor layer_norm(Tensor x, const Tensor& weight, const Tensor& bias);
Tensor fused_rms_norm(Tensor x, const Tensor& weight);
/// RMSNorm of Liger-Kernel. `in_place`: backward writes over the gradient that it is given.
Tensor liger_rms_norm(Tensor x, const Tensor& weight, bool in_place);

// Pointwise chains in one kernel, as torch.compile makes them: see compiled.cpp.
Tensor compiled_rms_norm(Tensor x, const Tensor& weight);
Tensor compiled_layer_norm(Tensor x, const Tensor& weight, const Tensor& bias);
Tensor compiled_activation(Tensor x);
/// residual + dropout(branch). `written`: into memory; else whoever reads the sum adds again, and keeping it keeps the
/// branch. In one format the sum is written over the branch.
Tensor compiled_residual_sum(Tensor residual, Tensor branch, double dropout, bool written);
Tensor compiled_gated_product(Tensor gate, Tensor up);  ///< act(gate) * up
Tensor compiled_rotary(Tensor x);                       ///< query or key turned by its position
/// The gated product of a kernel library: backward writes over what was kept.
Tensor in_place_gated_product(Tensor gate, Tensor up);

// Softmax.
Tensor softmax(Tensor x, DType dtype = DType::automatic);  ///< over the last dimension; dtype: computed in

// Attention kernels. q is (b, a, s, d), k and v (b, k, s, d).
enum class AttentionAlgorithm { flash, efficient, math };
struct ScaledDotProduct {
  Tensor mask;              ///< undefined: none
  bool causal = true;       ///< without mask
  std::int64_t window = 0;  ///< without mask: keys that a query sees; 0: all
  bool grouped = false;     ///< enable_gqa: fewer key/value heads than query heads; without it they are broadcast
  double dropout = 0.0;
  bool forced_math = false;
  bool packed = false;  ///< sequences end to end, as flash-attn's varlen kernels take them
};
/// The kernel that PyTorch picks: torch aten/src/ATen/native/transformers/cuda/sdp_utils.cpp.
AttentionAlgorithm select_attention(const Tensor& q, const Tensor& k, const Tensor& v, const ScaledDotProduct& options);
Tensor scaled_dot_product_attention(Tensor q, Tensor k, Tensor v, const ScaledDotProduct& options);
/// FlexAttention over `documents` sequences of equal length, laid end to end as one of batch 1; heads may be grouped.
Tensor flex_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Size& documents);

// Routing of tokens to experts.
struct Chosen {
  Tensor values;
  Tensor indices;
};
Chosen top_k(Tensor x, Size k);  ///< along the last dimension
/// Integers in ascending order and where they stood; `role` names the latter.
Chosen sort(const Tensor& x, const char* role = nullptr);
Tensor index_rows(Tensor x, const Tensor& indices, const char* role = nullptr);  ///< x[indices]
/// A result of as many rows, each row of x put where `indices` says (index_put_ into an empty tensor).
Tensor put_rows(Tensor x, const Tensor& indices, const char* role = nullptr);
/// Adds each row of x to the row of the result that `indices` says: (rows, ...).
Tensor scatter_add_rows(Tensor x, const Tensor& indices, Size rows);
Tensor gather(Tensor x, const Tensor& indices);  ///< along the last dimension
Tensor sum(Tensor x, int dimension, bool keep_dimension = false);
Tensor divide(Tensor a, Tensor b);           ///< a / b
Tensor divide_in_place(Tensor a, Tensor b);  ///< a /= b
/// Rows of x in groups, `offsets` says where each ends, times the group's own matrix of `weight`: (groups, out, in),
/// or `turned` (groups, in, out). Not an operation of autocast: computes in the weight's format.
Tensor grouped_linear(Tensor x, const Tensor& weight, const Tensor& offsets, bool turned = false,
                      const char* role = nullptr);

/// `rows` rows, of other GPUs or of other copies, for those of x: a tensor forward, one backward, nothing kept.
Tensor exchange_rows(Tensor x, const Size& rows, const Rule& rule, const char* role, Component component);
/// Rows that the busiest of the GPUs receives, of as many sent by each: balanced times `imbalance`.
Size received_rows(const Size& sent, double imbalance);

// Embedding and loss.
Tensor embedding(const Tensor& weight, const Tensor& indices);
Tensor log_softmax(Tensor logits);  ///< over the last dimension, in the logits' format
/// log_softmax and negative log-likelihood of (tokens, vocabulary) logits; a scalar.
Tensor cross_entropy(Tensor logits, const Tensor& labels);
/// The same of every row, without their mean: (rows).
Tensor cross_entropy_of_rows(Tensor logits, const Tensor& labels);
/// The same compiled, of logits in any format.
Tensor compiled_cross_entropy(Tensor logits, const Tensor& labels);
/// The same in one kernel that writes the gradient over the logits.
Tensor fused_cross_entropy(Tensor logits);
/// Head and cross entropy in one, by chunks of rows: (tokens, hidden) and the head's weight.
Tensor fused_linear_cross_entropy(Tensor hidden, const Tensor& weight);
/// A number made from a number, on the device.
Tensor scalar_operation(Tensor x);

// Used by the autograd engine.
Tensor sum_of_gradients(Tensor a, Tensor b);
Tensor reduce_to(Tensor gradient, const Shape& shape);
Tensor cast_gradient(Tensor gradient, DType dtype);

}  // namespace trainmem
