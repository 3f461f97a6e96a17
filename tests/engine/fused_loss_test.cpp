// Fused cross entropies, from the sizes that Liger-Kernel's source allocates.
#include "engine/tape/fold.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

/// Highest bytes while `act` runs on a tape of its own, less what was there before.
template <class Act>
Bytes peak_of(Act act) {
  Recording tape;
  Run run(tape);
  const ActivateRun active(run);
  run.begin_phase(0, Phase::forward, "forward");
  act();
  run.closed = true;
  return fold(tape)[0].peak.total;
}

}  // namespace

TEST_CASE("fused cross entropy writes the gradient over its fp32 logits: 4 bytes an element and one loss a token") {
  constexpr Bytes tokens = 2048;
  constexpr Bytes vocabulary = 32000;
  const Bytes peak = peak_of([] {
    const Tensor logits = make_parameter({tokens, vocabulary}, DType::float32, "logits");
    const Tensor loss = fused_cross_entropy(logits);
  });
  CHECK(peak == tokens * vocabulary * 4 + tokens * 4 + 4);
}

TEST_CASE(
    "fused linear cross entropy holds a chunk of logits as large as the hidden states, rounded to a power of two") {
  // Llama 3 8B at 4 x 4096: ceil(128256 / 4096) = 32 chunks of 512 rows.
  constexpr Bytes tokens = 16384;
  constexpr Bytes hidden = 4096;
  constexpr Bytes vocabulary = 128256;
  const Bytes peak = peak_of([] {
    const Tensor x = make_parameter({tokens, hidden}, DType::bfloat16, "hidden");
    const Tensor weight = make_parameter({vocabulary, hidden}, DType::bfloat16, "head");
    const Tensor loss = fused_linear_cross_entropy(x, weight);
  });
  const Bytes inputs = (tokens + vocabulary) * hidden * 2;
  const Bytes gradients = inputs;
  const Bytes losses = tokens * 4;
  const Bytes chunk = Bytes{512} * vocabulary * 2;
  CHECK(peak == inputs + gradients + losses + chunk);
}

TEST_CASE("fused linear cross entropy of a frozen head makes no gradient for its weight") {
  const Bytes peak = peak_of([] {
    const Tensor x = make_parameter({1024, 512}, DType::bfloat16, "hidden");
    const Tensor weight = make_parameter({4096, 512}, DType::bfloat16, "head", false);
    const Tensor loss = fused_linear_cross_entropy(x, weight);
  });
  const Bytes inputs = (1024 + 4096) * 512 * 2;
  // ceil(4096 / 512) = 8 chunks of 128 rows.
  CHECK(peak == inputs + 1024 * 512 * 2 + 1024 * 4 + Bytes{128} * 4096 * 2);
}

// swiglu.py keeps gate and up and writes their gradients over them; torch keeps gate, silu(gate), up and the product
// that the next layer keeps anyway, and makes three tensors in backward.
TEST_CASE("Liger's gated product keeps gate and up alone, and its backward allocates nothing") {
  constexpr Bytes tokens = 2048;
  constexpr Bytes width = 2816;
  Recording tape;
  {
    Run run(tape);
    const ActivateRun active(run);
    run.begin_phase(0, Phase::forward, "forward");
    const Tensor gate = make_parameter({tokens, width}, DType::bfloat16, "gate");
    const Tensor up = make_parameter({tokens, width}, DType::bfloat16, "up");
    Tensor product = in_place_gated_product(multiply_number(gate), multiply_number(up));
    run.begin_phase(0, Phase::backward, "backward");
    const Tensor gradient = allocate_nothing(product.shape(), product.dtype());
    run_backward(product, gradient);
    run.closed = true;
  }
  const std::vector<FoldedPhase> phases = fold(tape);
  const Bytes one = tokens * width * 2;
  CHECK(phases[0].end.total == 5 * one);
  CHECK(phases[1].peak.total <= 7 * one);  // the products' own gradients are made while their arguments' memory goes
}
