// What a GPU makes when it first needs it and keeps as long as the run. The moment matters to reserved memory: it
// decides which free block is taken, and so what later tensors find.
#pragma once

#include <vector>

#include "engine/tensor/tensor.h"

namespace trainmem::megatron {

/// The first of its kind in a run.
enum class FirstUse { layer, head_input, head_product, backward };

class FirstUses {
 public:
  /// `moment` makes a buffer of that shape.
  void expect(FirstUse moment, const Shape& shape, DType dtype, const Rule& rule);
  /// Makes what is expected of `moment` and not there yet.
  void make(FirstUse moment);
  /// All of it, as the first step leaves it.
  void make_all();

 private:
  struct Buffer {
    FirstUse moment;
    Shape shape;
    DType dtype;
    const Rule* rule;
    Tensor tensor;
  };
  static void make(Buffer& buffer);

  std::vector<Buffer> buffers_;
};

}  // namespace trainmem::megatron
