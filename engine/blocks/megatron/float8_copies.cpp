#include "engine/blocks/megatron/float8_copies.h"

#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule copy_rule{"fp8 copy", "",
                         "Transformer Engine pytorch/tensor/float8_tensor.py: Float8CurrentScalingQuantizer"};
constexpr Rule scales_rule{"scales of fp8 blocks", "",
                           "Transformer Engine pytorch/tensor/mxfp8_tensor.py, float8_blockwise_tensor.py"};
constexpr Rule gather_rule{"all-gather of the sequence in fp8", "",
                           "Transformer Engine pytorch/distributed.py: gather_along_first_dim"};

constexpr std::int64_t block = 128;       ///< numbers of one scale, blockwise
constexpr std::int64_t micro_block = 32;  ///< mxfp8

struct Matrix {
  Size rows, columns;
};

Matrix matrix_of(const Shape& shape) {
  Matrix matrix{Size(1), shape[-1]};
  for (int i = 0; i + 1 < shape.rank(); ++i) matrix.rows = matrix.rows * shape[i];
  return matrix;
}

Float8Copies make(const Shape& shape, Float8 kind, bool along, bool across, const Rule& rule, const char* role) {
  const Matrix matrix = matrix_of(shape);
  const auto data = [&] { return allocate(shape, DType::float8, {&rule, role}); };
  const auto scales = [&](bool of_across) {
    if (!in_blocks(kind)) return Tensor();
    return allocate({scale_bytes(matrix.rows, matrix.columns, kind, of_across)}, DType::uint8, {&scales_rule});
  };
  Float8Copies copies;
  if (along || kind == Float8::plain) {
    copies.along = data();
    copies.along_scales = scales(false);
  }
  if (across && kind != Float8::plain) {
    copies.across = data();
    copies.across_scales = scales(true);
  }
  return copies;
}

}  // namespace

bool in_blocks(Float8 kind) { return kind == Float8::blockwise || kind == Float8::mxfp8; }

Size scale_bytes(const Size& rows, const Size& columns, Float8 kind, bool across) {
  const Size fp32(4);
  switch (kind) {
    case Float8::blockwise:
      return across ? fp32 * ceil_divide(rows, Size(block)) * round_up(columns, Size(4))
                    : fp32 * ceil_divide(columns, Size(block)) * round_up(rows, Size(4));
    case Float8::mxfp8:
      return across ? round_up(rows / Size(micro_block), Size(4)) * round_up(columns, Size(128))
                    : round_up(rows, Size(128)) * round_up(columns / Size(micro_block), Size(4));
    case Float8::none:
    case Float8::transposing:
    case Float8::plain: break;
  }
  return Size(0);
}

Size scale_bytes_of_weight(const Size& rows, const Size& columns, Float8 kind) {
  if (kind != Float8::blockwise)
    return scale_bytes(rows, columns, kind, false) + scale_bytes(rows, columns, kind, true);
  const Size high = ceil_divide(rows, Size(block));
  const Size wide = ceil_divide(columns, Size(block));
  return Size(4) * (high * round_up(wide, Size(4)) + wide * round_up(high, Size(4)));
}

Float8Copies quantize(const Shape& shape, Float8 kind, bool along, bool across) {
  return make(shape, kind, along, across, copy_rule, nullptr);
}

void GatheredCopies::put_in_order() {
  arrived.reset();
  arrived_scales.reset();
}

GatheredCopies gather(const Shape& whole, Float8 kind, bool along, bool across) {
  const Set<Component> component(active_run().component, Component::communication);
  GatheredCopies gathered;
  gathered.copies = make(whole, kind, along, across, gather_rule, "gathered sequence");
  if (kind != Float8::blockwise) return gathered;
  if (along) {
    const Tensor& scales = gathered.copies.along_scales;
    gathered.arrived_scales = allocate(scales.shape(), scales.dtype(), {&gather_rule});
  }
  if (across) gathered.arrived = allocate(whole, DType::float8, {&gather_rule});
  return gathered;
}

Tensor transposed_rows(const Shape& whole, Float8 kind) {
  return kind == Float8::transposing ? allocate(whole, DType::float8, {&copy_rule}) : Tensor();
}

}  // namespace trainmem::megatron
