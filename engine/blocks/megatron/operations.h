// The operations that Megatron-Core adds to PyTorch's: its autograd functions, each with what it keeps.
//
// Tensors are (s, b, h): sequence first. With sequence parallelism a rank holds s / t rows between the linear
// layers; what a linear layer gathers is not kept but gathered again in backward. With fused accumulation the matrix
// product itself adds a weight's gradient to the main gradients; without it the gradient is a tensor until it is added.
// Source: NVIDIA/Megatron-LM megatron/core, commit d98e8a64, and Transformer Engine's modules that it calls.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/config.h"
#include "engine/tensor/ops.h"

namespace trainmem::megatron {

/// How a rank holds the sequence.
struct SequenceLayout {
  Size sequence;                   ///< rows of a whole sequence
  Size local;                      ///< rows between the linear layers: sequence / t with sequence parallelism
  bool sequence_parallel = false;  ///< and t > 1
  bool gather_buffer = false;      ///< linear layers gather into the global memory buffer (Megatron's own, without TE)
};

/// How a linear layer of Transformer Engine multiplies. Hopper's fp8 products want both factors laid out along the sum:
/// what backward needs across it is a transposed copy. Blackwell's take either layout. Numbers that share their scale
/// in blocks have a second copy on either, for its blocks lie along the other sum.
enum class Float8 { none, transposing, plain, blockwise, mxfp8 };

/// Stand-ins for the gradients of weights whose products went straight to the main gradients: one for each shape, from
/// the first backward that asks for it on.
class DummyGradients {
 public:
  void expect(const Shape& shape);  ///< a weight has it
  void make(const Shape& shape, DType dtype);
  void make_all(DType dtype);  ///< as a step leaves them

 private:
  std::vector<Shape> expected_;
  std::vector<Tensor> tensors_;
};

/// A weight that tensor parallelism divides, and a bias that may be absent.
struct ParallelLinear {
  Size in;
  Size out;       ///< of this rank
  Tensor bias;    ///< undefined: none
  Tensor weight;  ///< undefined: its gradient never exists as a tensor, products add to the main gradients themselves
  DummyGradients* dummies = nullptr;  ///< of such a weight
  Size stack = 1;                     ///< matrices, of which each row meets one: the experts of a rank
  Float8 float8 = Float8::none;
};

/// Factors of a weight's gradient that is computed later than its backward (zero-bubble schedules).
struct PutOffProduct {
  Tensor input;
  Tensor gradient;
  Shape gathered;        ///< all rows of the input
  bool gathers = false;  ///< the input is a part of the sequence
  std::int32_t layer = -1;
};

/// Gathers the sequence if it is divided, then multiplies: (s, b, out). Keeps its input as it came, or in fp8.
Tensor column_linear(Tensor x, const ParallelLinear& layer, const SequenceLayout& layout, const char* role);
/// Multiplies, then adds up over the ranks: (s or s / t, b, out). The bias is added later, by bias_dropout_add.
Tensor row_linear(Tensor x, const ParallelLinear& layer, const SequenceLayout& layout, const char* role);

/// The same by fp8 products of Transformer Engine (float8_linear.cpp), which the two above call.
Tensor float8_column_linear(Tensor x, const ParallelLinear& layer, const SequenceLayout& layout, const char* role);
Tensor float8_row_linear(Tensor x, const ParallelLinear& layer, const SequenceLayout& layout, const char* role);
/// This rank's rows of the sum over all ranks; without sequence parallelism the sum is taken in place.
Tensor reduce_scatter(Tensor full, const SequenceLayout& layout);

/// gelu(x + bias) in one kernel.
Tensor bias_gelu(Tensor x, const Tensor& bias);
/// silu(left half of x + bias) * right half in one kernel.
Tensor bias_swiglu(Tensor x, const Tensor& bias);
/// residual + dropout(x + bias) in one kernel.
Tensor bias_dropout_add(Tensor x, const Tensor& bias, Tensor residual, double probability);

/// Scale, causal mask and softmax in one kernel, in the format of the scores. Backward is in place.
Tensor scaled_masked_softmax(Tensor scores);
/// Flash attention of (s, b, heads, d) tensors, as cuDNN and FlashAttention do it behind Transformer Engine.
Tensor flash_attention(Tensor q, Tensor k, Tensor v);
/// The same over a sequence that `gpus` GPUs share. --cp-comm-type p2p, all_gather, a2a.
Tensor context_parallel_attention(Tensor q, Tensor k, Tensor v, std::int64_t gpus, ContextParallelMethod method);
/// Rotary embedding in one kernel.
Tensor fused_rope(Tensor x, const Tensor& frequencies);

/// The rank's rows of the embedding table, added up over the ranks: (b, s, h), or with `scatter` (s / t, b, h).
Tensor vocabulary_embedding(const Tensor& weight, const Tensor& ids, const SequenceLayout& layout, bool scatter,
                            Size t);
/// This rank's rows of a whole sequence (s, b, h): a copy.
Tensor scatter_sequence(Tensor x, const SequenceLayout& layout);
/// Loss of every token over logits that are divided by the vocabulary: (s, b). What is kept of the labels are the
/// masked targets that it makes itself.
Tensor vocabulary_cross_entropy(Tensor logits, const Tensor& labels);
/// The same in compiled parts (--cross-entropy-loss-fusion, whose implementation is "native" by default): each writes
/// its fp32 result beside its argument.
Tensor native_cross_entropy(Tensor logits, const Tensor& labels);
/// The same in Transformer Engine's kernels: the gradient is written over the logits.
Tensor fused_cross_entropy(Tensor logits, const Tensor& labels, Size t);
/// Mean over the tokens that count.
Tensor masked_mean(Tensor losses, const Tensor& loss_mask);

/// Runs `forward` without autograd and keeps its inputs; backward runs it again. tensor_parallel/random.py:
/// CheckpointFunction.
using Forward = std::function<Tensor(const std::vector<Tensor>&)>;
Tensor recompute(Forward forward, std::vector<Tensor> inputs);
/// The same by another library's rule.
Tensor recompute(const Rule& rule, Forward forward, std::vector<Tensor> inputs);

/// Recomputation whose result is not kept either, though an operation after it needs it: the result is there again
/// before that operation's backward. tensor_parallel/random.py: CheckpointWithoutOutput.
class DiscardedResult {
 public:
  Tensor run(Forward forward, Tensor input);
  /// Lets go of the result; `consumer`, computed from it, brings it back.
  void discard(const Tensor& consumer);

 private:
  struct State {
    Forward forward;
    Tensor input;
    Tensor again;  ///< the result of the second forward, with its graph
  };
  std::shared_ptr<State> state_;
  Tensor result_;
};

}  // namespace trainmem::megatron
