// Rotary positions in torchtitan: pairs of channels as complex numbers, or halves of them.
#pragma once

#include "engine/blocks/torchtitan/form.h"
#include "engine/tensor/ops.h"

namespace trainmem::torchtitan {

/// Query or key in fp32, seen as complex numbers, times the frequencies of its positions, and back in its format.
Tensor turn(const Tensor& x, const Tensor& frequencies);

/// Query and key by the halves of their channels: models/common/rope.py, CosSinRoPE.apply_rotary_emb.
void turn_halves(Tensor& query, Tensor& key, const Tensor& cos, const Tensor& sin);

/// The module that every attention has since June 2026 (02d24f017), with a table of its own, of which it takes the
/// rows that the positions of its tokens name.
class Rope {
 public:
  /// `halves`: cos and sin of the width, else complex numbers, as many bytes as fp32 of the width.
  Rope(const Size& width, bool halves, const Form& form);
  /// (1, tokens, heads, width) each.
  void operator()(Tensor& query, Tensor& key) const;

 private:
  Size width_;
  bool halves_;
  Tensor table_;
};

}  // namespace trainmem::torchtitan
