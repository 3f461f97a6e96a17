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

TEST_CASE("fused linear cross entropy holds a chunk of logits, and the head's gradient once more in 16 and 32 bits") {
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
  const Bytes product = vocabulary * hidden * (2 + 4);  // torch.mm(...).float()
  CHECK(peak == inputs + gradients + losses + chunk + product);
}

TEST_CASE("fused linear cross entropy of a frozen head makes no gradient for its weight, and holds two chunks") {
  const Bytes peak = peak_of([] {
    const Tensor x = make_parameter({1024, 512}, DType::bfloat16, "hidden");
    const Tensor weight = make_parameter({4096, 512}, DType::bfloat16, "head", false);
    const Tensor loss = fused_linear_cross_entropy(x, weight);
  });
  const Bytes inputs = (1024 + 4096) * 512 * 2;
  // ceil(4096 / 512) = 8 chunks of 128 rows.
  CHECK(peak == inputs + 1024 * 512 * 2 + 1024 * 4 + 2 * Bytes{128} * 4096 * 2);
}

// Under autocast the head's transpose is cast for each chunk, the head itself once; its fp32 gradient takes the product
// by torch.addmm.
TEST_CASE("fused linear cross entropy under autocast keeps gradients in fp32 and one 16-bit copy of the head") {
  constexpr Bytes tokens = 1024;
  constexpr Bytes hidden = 512;
  constexpr Bytes vocabulary = 4096;
  const Bytes peak = peak_of([] {
    const Tensor x = make_parameter({tokens, hidden}, DType::float32, "hidden");
    const Tensor weight = make_parameter({vocabulary, hidden}, DType::float32, "head");
    const AutocastScope autocast({true, DType::bfloat16});
    const Tensor loss = fused_linear_cross_entropy(x, weight);
  });
  const Bytes inputs = (tokens + vocabulary) * hidden * 4;
  const Bytes rows = Bytes{128} * hidden * 2;
  const Bytes chunks = 2 * Bytes{128} * vocabulary * 2;
  CHECK(peak == 2 * inputs + tokens * 4 + 2 * vocabulary * hidden * 2 + rows + chunks);
}

// linkedin/Liger-Kernel benchmark/data/all_benchmark_data.csv: fused_linear_cross_entropy, liger 0.4.2, full, memory,
// A100, hidden size 4096, vocabulary 128,256, bf16, in MiB. benchmark_fused_linear_cross_entropy.py of that time makes
// a head for each of the two implementations that it compares, and gradients stay from run to run. The counter sees two
// cuBLAS workspaces, and up to 1 MiB more of a block that was not split.
TEST_CASE("fused linear cross entropy of Liger 0.4 takes what its published benchmark measured") {
  constexpr Bytes hidden = 4096;
  constexpr Bytes vocabulary = 128256;
  constexpr Bytes workspaces = 2 * 8519680;
  const auto [tokens, measured] = GENERATE(table<Bytes, double>(
      {{4096, 4245.5478515625}, {8192, 4466.9697265625}, {16384, 4910.4384765625}, {32768, 5794.6259765625}}));
  const Bytes peak = peak_of([tokens = tokens] {
    active_run().settings.legacy_models = true;
    const Tensor other_head = make_parameter({vocabulary, hidden}, DType::bfloat16, "other head");
    const Tensor weight = make_parameter({vocabulary, hidden}, DType::bfloat16, "head");
    const Tensor weight_gradient = make_parameter({vocabulary, hidden}, DType::bfloat16, "gradient of the head");
    const Tensor x = make_parameter({tokens, hidden}, DType::bfloat16, "hidden");
    const Tensor x_gradient = make_parameter({tokens, hidden}, DType::bfloat16, "gradient of the hidden states");
    const Tensor target = make_parameter({tokens}, DType::int64, "target");
    const Tensor loss = fused_linear_cross_entropy(x, weight);
  });
  const Bytes difference = static_cast<Bytes>(measured * 1024 * 1024) - workspaces - peak;
  CHECK(difference >= 0);
  CHECK(difference <= 1024 * 1024 + 2048);
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
