// fp8 copies of a matrix, with the scales that belong to its blocks. A matrix (rows, columns) is the last dimension of
// a tensor beside all others.
//
// One scale for each tensor is a number and not counted. With blocks, a copy along the rows serves one product and a
// copy across them the other. Source: NVIDIA/TransformerEngine d0067d0, transformer_engine/pytorch/tensor/
// float8_blockwise_tensor.py and mxfp8_tensor.py: get_scale_shape; distributed.py: _start_all_gather_fp8_blockwise.
#pragma once

#include "engine/blocks/megatron/operations.h"

namespace trainmem::megatron {

/// Whether numbers share their scale in blocks: of 128 in fp32, of 32 in a byte.
bool in_blocks(Float8 kind);

/// Bytes of the scales of one copy of activations or gradients, padded as products take them.
Size scale_bytes(const Size& rows, const Size& columns, Float8 kind, bool across);
/// Bytes of the scales of both copies of a weight: fp32 for each 128 x 128 of it, or as activations have them.
Size scale_bytes_of_weight(const Size& rows, const Size& columns, Float8 kind);

/// Undefined where it is not wanted, or where one copy serves both products.
struct Float8Copies {
  Tensor along, along_scales;
  Tensor across, across_scales;
};

Float8Copies quantize(const Shape& shape, Float8 kind, bool along, bool across);

/// All GPUs' rows, and what blocks of 128 arrive in before they are put in order.
struct GatheredCopies {
  Float8Copies copies;
  Tensor arrived;
  Tensor arrived_scales;

  void put_in_order();
};

GatheredCopies gather(const Shape& whole, Float8 kind, bool along, bool across);

/// What was gathered as rows, laid out for the gradient of a weight; undefined where nothing has to be transposed.
Tensor transposed_rows(const Shape& whole, Float8 kind);

}  // namespace trainmem::megatron
