// What the gradient of an embedding takes inside its kernel. Expected bytes: pytorch
// aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu, max_partial_segment rows in fp32.
#include "engine/tensor/embedding.h"

#include <algorithm>

#include "engine/tape/allocator.h"
#include "engine/tensor/record.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

constexpr Rule rule{"embedding", "", ""};

/// The most that the gradient of a table takes beside itself.
Bytes beside_the_gradient(std::int64_t rows, std::int64_t width, std::int64_t ids) {
  const Recording tape = record([&](Run&) {
    const Tensor gradient = embedding_backward({rows, width}, DType::bfloat16, ids, {&rule});
  });
  Bytes now = 0;
  Bytes peak = 0;
  for (const Event event : tape.events) peak = std::max(peak, now += tape.change_by(event));
  return peak - rows * width * 2;
}

}  // namespace

TEST_CASE("embedding backward: up to 3,072 ids nothing, beyond sums of up to ten rows in fp32") {
  CHECK(beside_the_gradient(32000, 4096, 3072) == 0);
  // 8,192 / 10 + 8,192 sums of 4,096 numbers; sorted ids, order and offsets; counts and offsets of sums; their begins.
  CHECK(beside_the_gradient(32000, 4096, 8192) == (819 + 8192) * 4096 * 4 + (3 * 8192 + 2 * 8192 + 819 + 8192) * 8);
  // A table of fewer rows than ids has no more sums than rows beside the tenth.
  CHECK(beside_the_gradient(1000, 64, 10000) == (1000 + 1000) * 64 * 4 + (3 * 10000 + 2 * 1000 + 2000) * 8);
}
