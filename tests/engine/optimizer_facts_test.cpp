// States and step temporaries summed from the tables, against recorded steps and published bytes a parameter.
#include "engine/border/json_io.h"
#include "engine/optimizer/facts.h"
#include "tests/catch.h"
#include "tests/engine/recorded_optimizer_steps.h"

using namespace trainmem;

namespace {

std::vector<SteppedTensor> tensors_of(const recorded::OptimizerStep& run) {
  const Model model = read_config("{\"model\": \"" + std::string(run.model) + "\"}").config.model;
  return stepped_tensors(parameters(model), run.weights, run.weights, run.weights);
}

/// Weights, gradients and buffers.
Bytes others(const recorded::OptimizerStep& run, const std::vector<SteppedTensor>& tensors) {
  Bytes sum = run.buffers;
  for (const SteppedTensor& tensor : tensors) sum += 2 * tensor.elements() * element_bytes(run.weights);
  return sum;
}

SteppedTensor tensor(std::int64_t rows, std::int64_t columns, DType dtype) {
  return {{rows, columns, 0}, 2, dtype, dtype, dtype};
}

SteppedTensor vector(std::int64_t size, DType dtype) { return {{size, 0, 0}, 1, dtype, dtype, dtype}; }

}  // namespace

TEST_CASE("optimizer facts: states and temporaries of recorded steps, to the byte") {
  for (const recorded::OptimizerStep& run : recorded::optimizer_steps) {
    CAPTURE(run.model, static_cast<int>(run.optimizer), static_cast<int>(run.implementation), name(run.weights));
    const auto tensors = tensors_of(run);
    const StateBytes states = state_bytes(run.optimizer, run.implementation, tensors);
    CHECK(states.paged == 0);
    CHECK(others(run, tensors) + states.resident == run.end);
    CHECK(run.end + step_temporary_peak(run.optimizer, run.implementation, tensors) == run.peak);
  }
}

TEST_CASE("optimizer facts: clipping holds a norm for each tensor, their stack and the total") {
  for (const recorded::OptimizerStep& run : recorded::clipped_steps) {
    CAPTURE(run.model, name(run.weights));
    const auto tensors = tensors_of(run);
    const StateBytes states = state_bytes(run.optimizer, run.implementation, tensors);
    CHECK(others(run, tensors) + states.resident == run.end);
    CHECK(run.end + clipping_temporary_peak(tensors) == run.peak);
  }
}

TEST_CASE("optimizer facts: bytes a parameter of the published tables") {
  // Rajbhandari et al. 2020 (ZeRO), section 3.1: Adam keeps two fp32 numbers, 8 bytes a parameter.
  const std::vector<SteppedTensor> large = {tensor(4096, 4096, DType::float32)};
  const Bytes n = large.front().elements();
  const auto states = [&](Optimizer optimizer) {
    return state_bytes(optimizer, OptimizerImplementation::foreach, large).resident;
  };
  CHECK(states(Optimizer::adamw) == 8 * n);
  CHECK(states(Optimizer::sgd) == 0);
  CHECK(states(Optimizer::sgd_momentum) == 4 * n);
  CHECK(states(Optimizer::lion) == 4 * n);
  // Dettmers et al. 2022 (8-bit optimizers): two 8-bit codes a parameter and one fp32 scale for each 256 of them;
  // bitsandbytes keeps two code books of 256 fp32 values besides.
  CHECK(states(Optimizer::adamw_8bit) == 2 * n + 2 * 4 * (n / 256) + 2 * 256 * 4);
  CHECK(states(Optimizer::lion_8bit) == n + 4 * (n / 256) + 256 * 4);
  // Shazeer and Stern 2018 (Adafactor): m + n numbers for a matrix of m x n.
  CHECK(states(Optimizer::adafactor) == 4 * (4096 + 4096));
}

TEST_CASE("optimizer facts: bitsandbytes keeps tensors of fewer than 4,096 elements in fp32") {
  const auto states = [](std::int64_t size) {
    return state_bytes(Optimizer::adamw_8bit, OptimizerImplementation::fused, {vector(size, DType::bfloat16)}).resident;
  };
  CHECK(states(4095) == 8 * 4095 + 2048);
  CHECK(states(4096) == 2 * 4096 + 2 * 4 * 16 + 2048);
}

TEST_CASE("optimizer facts: paged states of at least 100,000 elements are outside PyTorch's counters") {
  const StateBytes states = state_bytes(Optimizer::adamw_paged, OptimizerImplementation::fused,
                                        {vector(99'999, DType::bfloat16), vector(100'000, DType::bfloat16)});
  CHECK(states.resident == 8 * 99'999);
  CHECK(states.paged == 8 * 100'000);
}

TEST_CASE("optimizer facts: stepping inside backward holds the temporaries of one tensor") {
  const std::vector<SteppedTensor> tensors = {tensor(10, 10, DType::float32), tensor(20, 20, DType::float32)};
  CHECK(step_temporary_peak(Optimizer::adamw, OptimizerImplementation::foreach, tensors) == 4 * (100 + 400));
  CHECK(step_temporary_peak(Optimizer::adamw, OptimizerImplementation::in_backward, tensors) == 4 * 400);
  CHECK(step_temporary_peak(Optimizer::adamw, OptimizerImplementation::fused, tensors) == 0);
}

TEST_CASE("optimizer facts: a loop's denominator lives until the next one is made") {
  // adam.py, _single_tensor_adam: denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)
  const std::vector<SteppedTensor> tensors = {tensor(10, 10, DType::float32), tensor(10, 10, DType::float32)};
  CHECK(step_temporary_peak(Optimizer::adamw, OptimizerImplementation::for_loop, tensors) == 4 * 300);
}
