// Rotary embedding: its tables, and the ways in which the families turn query and key with them.
#pragma once

#include <utility>

#include "engine/blocks/architecture.h"
#include "engine/tensor/ops.h"

namespace trainmem::transformers {

/// Buffers of RotaryEmbedding and its tables for one forward.
struct Rotary {
  Tensor inverse_frequencies;
  Tensor original_inverse_frequencies;
  Size width;  ///< channels of a head that turn
  explicit Rotary(Size width);
  /// cos and sin in `dtype`, (rows, s, width), or for one half of the channels, which serves the other too.
  std::pair<Tensor, Tensor> tables(Size sequence, DType dtype, bool of_a_half = false, Size rows = 1) const;
  /// The same, (batch, s, width), of frequencies that take turns: each token has three positions.
  std::pair<Tensor, Tensor> interleaved_tables(Size batch, Size sequence, DType dtype) const;
  /// cos and sin as complex numbers, (1, s, width) of fp32.
  Tensor complex_table(Size sequence) const;

 private:
  /// Frequencies times positions, (rows, width / 2, s).
  Tensor frequencies(Size sequence, const Size& rows) const;
};

/// The halves of the last dimension (-x2, x1).
Tensor rotate_half(Tensor x);
/// (x * cos) + (rotate_half(x) * sin); cos and sin are (1, 1, s, width).
Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin);

/// rotate() of query and key; cos, sin are (1, s, width).
void apply_rotary(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin);

/// The same for the first channels of each head, as many as the tables have; the others are joined to them again, those
/// of query first. What turned goes when it has been joined: GLM.
void apply_partial_rotary(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin);
/// What turned goes when both have been joined: Nemotron, Qwen3.5.
void apply_partial_rotary_together(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin);
/// Query is turned and joined before key turns: Phi-3.
void apply_partial_rotary_in_turn(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin);
/// Returns the parts, which stay local variables of attention's forward: StableLM.
Locals apply_partial_rotary_kept(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin);

/// gpt-oss: the first half times cos minus the second times sin, and the other way about.
void apply_rotary_halves(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin);
/// DeepSeek-V2: pairs of channels as complex numbers, in fp32; `turns` (1, s, width) holds complex numbers too.
/// `heads`: the dimension of query and key that counts their heads.
void apply_rotary_complex(Tensor& q, Tensor& k, const Tensor& turns, int heads = 1);
/// DeepSeek-V3: even and odd channels each by itself; `heads`: the dimension that counts their heads.
void apply_rotary_even_and_odd(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin, int heads = 1);

/// OLMo: tables in fp32, the results cast to what query and key were.
void apply_rotary_fp32(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin);
/// GLM, Helium, ERNIE: a table, (1, s, width), made anew for neighbouring channels, from its first half.
Tensor neighbours_table(const Tensor& table);
/// Qwen2-VL: of tables for several positions of each token, (positions * batch, s, width), each channel's own.
Tensor channels_of_positions(const Tensor& table, const Size& positions);
/// ERNIE: turned in their own format, multiplied and added in fp32, and cast back.
void apply_rotary_ernie(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin);
/// Cohere: everything in fp32, and neighbouring channels are the pairs that turn. HunyuanOCR: halves, as Llama.
void apply_rotary_interleaved(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin);

}  // namespace trainmem::transformers
