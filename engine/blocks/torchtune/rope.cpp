#include "engine/blocks/torchtune/rope.h"

#include "engine/blocks/transformers/rotary.h"

namespace trainmem::torchtune {

Tensor turn_pairs(const Tensor& x, const Tensor& table) {
  const Shape& s = x.shape();
  const Tensor pairs = reshape(to(x, DType::float32), {s[0], s[1], s[2], s[3] / 2, 2});
  const auto product = [&](Size channel, Size turn) { return select(pairs, 4, channel) * select(table, 4, turn); };
  std::vector<Tensor> turned;
  {
    Tensor straight = product(0, 0);
    Tensor across = product(1, 1);
    turned.push_back(unsqueeze(subtract(std::move(straight), std::move(across)), 4));
  }
  {
    Tensor straight = product(1, 0);
    Tensor across = product(0, 1);
    turned.push_back(unsqueeze(std::move(straight) + std::move(across), 4));
  }
  const Tensor stacked = concatenate(turned, 4);
  turned.clear();
  return to(view(stacked, x.shape()), x.dtype());
}

Tensor turn_halves(const Tensor& x, const Tensor& table) {
  const Size width = x.size(-1);
  const Tensor cos = to(slice(table, -1, 0, width), x.dtype());
  const Tensor sin = to(slice(table, -1, width, width * 2), x.dtype());
  const Tensor rotated = transformers::rotate_half(x);
  Tensor straight = x * cos;
  Tensor across = rotated * sin;
  return std::move(straight) + std::move(across);
}

Tensor turn_halves_in_fp32(const Tensor& x, const Tensor& table) {
  const Size width = x.size(-1);
  const Tensor cos = slice(table, -1, 0, width);
  const Tensor sin = slice(table, -1, width, width * 2);
  const Tensor rotated = transformers::rotate_half(x);
  Tensor turned;
  {
    Tensor straight = x * cos;
    Tensor across = rotated * sin;
    turned = std::move(straight) + std::move(across);
  }
  return to(turned, x.dtype());
}

}  // namespace trainmem::torchtune
