// States and step temporaries of single tensors, against published bytes a parameter and the optimizers' source.
#include "engine/optimizer/walk.h"
#include "engine/tape/fold.h"
#include "engine/tensor/autograd.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

constexpr Rule parameter_rule{"parameter", "a weight", "test"};
constexpr auto foreach = OptimizerImplementation::foreach;
constexpr auto fused = OptimizerImplementation::fused;

struct Measured {
  Bytes states = 0;       ///< on the device, after a step
  Bytes temporaries = 0;  ///< most that a step holds beside parameters, gradients and states
};

/// Two steps over parameters of these shapes; inside backward one parameter after another.
Measured step(const std::vector<Shape>& shapes, DType dtype, Optimizer optimizer, OptimizerImplementation how) {
  Recording recording;
  {
    Run run(recording);
    const ActivateRun active(run);
    run.begin_phase(0, Phase::initialise, "init");
    for (const Shape& shape : shapes) {
      const Tensor parameter = allocate(shape, dtype, {&parameter_rule});
      parameter->grad = allocate(shape, dtype, {&parameter_rule});
      register_parameter(parameter);
    }
    OptimizerWalk walk({optimizer, Members::all}, how);
    for (int i = 1; i <= 2; ++i) {
      run.begin_phase(i, Phase::optimizer_step, "optimizer");
      if (how == OptimizerImplementation::in_backward) {
        for (const RegisteredParameter& parameter : run.parameters) walk.step_alone(parameter.tensor);
      } else {
        walk.step();
      }
    }
    run.closed = true;
  }
  const FoldedPhase phase = fold(recording).back();
  return {phase.end.components[Component::optimizer_states], phase.peak.total - phase.end.total};
}

}  // namespace

TEST_CASE("optimizer facts: bytes a parameter of the published tables") {
  constexpr Bytes n = 4096 * 4096;
  const auto states = [](Optimizer optimizer) {
    return step({{4096, 4096}}, DType::float32, optimizer, foreach).states;
  };
  // Rajbhandari et al. 2020 (ZeRO), section 3.1: Adam keeps two fp32 numbers, 8 bytes a parameter.
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
    return step({{size}}, DType::bfloat16, Optimizer::adamw_8bit, fused).states;
  };
  CHECK(states(4095) == 8 * 4095);  // optimizer.py, init_state: code books come with the first codes
  CHECK(states(4096) == 2 * 4096 + 2 * 4 * 16 + 2048);
}

TEST_CASE(
    "optimizer facts: torchao quantises whole blocks of tensors of 4,096 elements or more, each state with a book") {
  // torchao/optim/README.md: 2 bytes a parameter and 1 byte, with scales of blocks of 256 and 128.
  const auto states = [](Optimizer optimizer, std::int64_t size) {
    return step({{size}}, DType::bfloat16, optimizer, fused).states;
  };
  CHECK(states(Optimizer::adamw_torchao_8bit, 4095) == 4 * 4095);
  CHECK(states(Optimizer::adamw_torchao_8bit, 4096) == 2 * (4096 + 4 * 16 + 1024));
  CHECK(states(Optimizer::adamw_torchao_8bit, 4096 + 128) == 4 * (4096 + 128));
  CHECK(states(Optimizer::adamw_torchao_4bit, 4096 + 128) == 2 * ((4096 + 128) / 2 + 4 * 33 + 64));
  CHECK(states(Optimizer::adamw_torchao_fp8, 4096) == 2 * (4096 + 4 * 16));
}

TEST_CASE("optimizer facts: AdEMAMix keeps two first moments, LAMB a norm") {
  // bitsandbytes optim/ademamix.py: state1 of (2, size), absmax1 of (2, blocks); optim/lamb.py: max_unorm 1.
  CHECK(step({{4096}}, DType::bfloat16, Optimizer::ademamix, fused).states == 12 * 4096);
  CHECK(step({{4096}}, DType::bfloat16, Optimizer::ademamix_8bit, fused).states == 3 * 4096 + 3 * 4 * 16 + 2048);
  CHECK(step({{4096}}, DType::bfloat16, Optimizer::lamb, fused).states == 8 * 4096 + 4);
}

TEST_CASE("optimizer facts: paged states of at least 100,000 elements are outside PyTorch's counters") {
  CHECK(step({{99'999}, {100'000}}, DType::bfloat16, Optimizer::adamw_paged, fused).states == 8 * 99'999);
}

TEST_CASE("optimizer facts: stepping inside backward holds the temporaries of one tensor") {
  const std::vector<Shape> shapes = {{10, 10}, {20, 20}};
  const auto temporaries = [&](OptimizerImplementation how) {
    return step(shapes, DType::float32, Optimizer::adamw, how).temporaries;
  };
  CHECK(temporaries(foreach) == 4 * (100 + 400));
  CHECK(temporaries(OptimizerImplementation::in_backward) == 4 * 400);
  CHECK(temporaries(fused) == 0);
}

TEST_CASE("optimizer facts: a loop's denominator lives until the next one is made") {
  // adam.py, _single_tensor_adam: denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)
  const std::vector<Shape> shapes = {{10, 10}, {10, 10}};
  CHECK(step(shapes, DType::float32, Optimizer::adamw, OptimizerImplementation::for_loop).temporaries == 4 * 300);
}
