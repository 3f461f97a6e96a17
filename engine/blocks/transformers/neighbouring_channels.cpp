#include "engine/blocks/transformers/neighbouring_channels.h"

namespace trainmem::transformers {

namespace {

constexpr Rule repeat_rule{"repeat_interleave",
                           "sines and cosines of each channel: the gradient of query and key needs them",
                           "transformers models/gptj/modeling_gptj.py: apply_rotary_pos_emb"};

Tensor rotate_every_two(const Tensor& x) {
  const Tensor even = every_second(x, 0);
  const Tensor odd = every_second(x, 1);
  const Tensor pairs = concatenate({unsqueeze(negate(odd), 4), unsqueeze(even, 4)}, 4);
  return view(pairs, x.shape());
}

}  // namespace

Tensor turn_neighbours(const Tensor& x, const Tensor& sin, const Tensor& cos) {
  const Size s = sin.size(1);
  const auto repeated = [&](const Tensor& table) {
    const Tensor copy = allocate({1, s, 1, table.size(2), 2}, table.dtype(), {&repeat_rule, "rotary tables"});
    return view(copy, {1, s, 1, table.size(2) * 2});
  };
  const Tensor wide_sin = repeated(sin);
  const Tensor wide_cos = repeated(cos);
  const Tensor straight = x * wide_cos;
  return straight + rotate_every_two(x) * wide_sin;
}

}  // namespace trainmem::transformers
