// Optimizer steps of recorded training steps (torch 2.13, transformers 5.23): bytes in use at the end of the second
// step's optimizer phase, and that phase's peak, against states and temporaries summed from the tables.
//
// Expected bytes are copied from the recordings of tests/traces/.
#include "engine/optimizer_facts.h"

#include "engine/json_io.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

struct Recorded {
  const char* model;
  Optimizer optimizer;
  OptimizerImplementation implementation;
  DType weights;
  Bytes buffers;  ///< rotary frequencies
  Bytes end;
  Bytes peak;
};

// clang-format off
const Recorded recorded[] = {
    {"gpt2", Optimizer::adafactor_hf, OptimizerImplementation::for_loop, DType::bfloat16, 0, 499046292, 1116808412},
    {"gpt2", Optimizer::adafactor, OptimizerImplementation::foreach, DType::bfloat16, 0, 498402466, 747282082},
    {"gpt2", Optimizer::adagrad, OptimizerImplementation::foreach, DType::bfloat16, 0, 746638848, 1244398080},
    {"gpt2", Optimizer::adamw_amsgrad, OptimizerImplementation::foreach, DType::bfloat16, 0, 1244398080, 1493277696},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::for_loop, DType::bfloat16, 0, 995518464, 1149907968},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::foreach, DType::bfloat16, 0, 995518464, 1244398080},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::fused, DType::bfloat16, 0, 995519056, 995519056},
    {"gpt2", Optimizer::muon, OptimizerImplementation::for_loop, DType::bfloat16, 0, 746396160, 980339712},
    {"gpt2", Optimizer::nadam, OptimizerImplementation::foreach, DType::bfloat16, 0, 995518464, 1244398080},
    {"gpt2", Optimizer::rmsprop, OptimizerImplementation::foreach, DType::bfloat16, 0, 746638848, 995518464},
    {"gpt2", Optimizer::sgd_momentum, OptimizerImplementation::for_loop, DType::bfloat16, 0, 746638848, 746638848},
    {"gpt2", Optimizer::sgd_momentum, OptimizerImplementation::foreach, DType::bfloat16, 0, 746638848, 746638848},
    {"gpt2", Optimizer::sgd, OptimizerImplementation::foreach, DType::bfloat16, 0, 497759232, 497759232},
    {"gpt2", Optimizer::adafactor_hf, OptimizerImplementation::for_loop, DType::float32, 0, 996805524, 1305788636},
    {"gpt2", Optimizer::adafactor, OptimizerImplementation::foreach, DType::float32, 0, 996804932, 1494564164},
    {"gpt2", Optimizer::adagrad, OptimizerImplementation::foreach, DType::float32, 0, 1493277696, 2488796160},
    {"gpt2", Optimizer::adamw_amsgrad, OptimizerImplementation::foreach, DType::float32, 0, 2488796160, 2986555392},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::for_loop, DType::float32, 0, 1991036928, 2299815936},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::foreach, DType::float32, 0, 1991036928, 2488796160},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::fused, DType::float32, 0, 1991037520, 1991037520},
    {"gpt2", Optimizer::muon, OptimizerImplementation::for_loop, DType::float32, 0, 1492792320, 1803930624},
    {"gpt2", Optimizer::nadam, OptimizerImplementation::foreach, DType::float32, 0, 1991036928, 2488796160},
    {"gpt2", Optimizer::rmsprop, OptimizerImplementation::foreach, DType::float32, 0, 1493277696, 1991036928},
    {"gpt2", Optimizer::sgd_momentum, OptimizerImplementation::for_loop, DType::float32, 0, 1493277696, 1493277696},
    {"gpt2", Optimizer::sgd_momentum, OptimizerImplementation::foreach, DType::float32, 0, 1493277696, 1493277696},
    {"gpt2", Optimizer::sgd, OptimizerImplementation::foreach, DType::float32, 0, 995518464, 995518464},
    {"llama3.2-1b", Optimizer::adafactor_hf, OptimizerImplementation::for_loop, DType::bfloat16, 256, 4946868040, 9150081868},
    {"llama3.2-1b", Optimizer::adafactor, OptimizerImplementation::foreach, DType::bfloat16, 256, 4945062656, 7416691456},
    {"llama3.2-1b", Optimizer::adagrad, OptimizerImplementation::foreach, DType::bfloat16, 256, 7414886656, 12358144256},
    {"llama3.2-1b", Optimizer::adamw_amsgrad, OptimizerImplementation::foreach, DType::bfloat16, 256, 12358144256, 14829773056},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::for_loop, DType::bfloat16, 256, 9886515456, 10937188608},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::foreach, DType::bfloat16, 256, 9886515456, 12358144256},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::fused, DType::bfloat16, 256, 9886516040, 9886516040},
    {"llama3.2-1b", Optimizer::muon, OptimizerImplementation::for_loop, DType::bfloat16, 256, 7414751488, 9007538432},
    {"llama3.2-1b", Optimizer::nadam, OptimizerImplementation::foreach, DType::bfloat16, 256, 9886515456, 12358144256},
    {"llama3.2-1b", Optimizer::rmsprop, OptimizerImplementation::foreach, DType::bfloat16, 256, 7414886656, 9886515456},
    {"llama3.2-1b", Optimizer::sgd_momentum, OptimizerImplementation::for_loop, DType::bfloat16, 256, 7414886656, 7414886656},
    {"llama3.2-1b", Optimizer::sgd_momentum, OptimizerImplementation::foreach, DType::bfloat16, 256, 7414886656, 7414886656},
    {"llama3.2-1b", Optimizer::sgd, OptimizerImplementation::foreach, DType::bfloat16, 256, 4943257856, 4943257856},
    {"llama3.2-1b", Optimizer::adafactor_hf, OptimizerImplementation::for_loop, DType::float32, 256, 9890125640, 11991993164},
    {"llama3.2-1b", Optimizer::adafactor, OptimizerImplementation::foreach, DType::float32, 256, 9890125056, 14833382656},
    {"llama3.2-1b", Optimizer::adagrad, OptimizerImplementation::foreach, DType::float32, 256, 14829773056, 24716288256},
    {"llama3.2-1b", Optimizer::adamw_amsgrad, OptimizerImplementation::foreach, DType::float32, 256, 24716288256, 29659545856},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::for_loop, DType::float32, 256, 19773030656, 21874376960},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::foreach, DType::float32, 256, 19773030656, 24716288256},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::fused, DType::float32, 256, 19773031240, 19773031240},
    {"llama3.2-1b", Optimizer::muon, OptimizerImplementation::for_loop, DType::float32, 256, 14829502720, 16947626240},
    {"llama3.2-1b", Optimizer::nadam, OptimizerImplementation::foreach, DType::float32, 256, 19773030656, 24716288256},
    {"llama3.2-1b", Optimizer::rmsprop, OptimizerImplementation::foreach, DType::float32, 256, 14829773056, 19773030656},
    {"llama3.2-1b", Optimizer::sgd_momentum, OptimizerImplementation::for_loop, DType::float32, 256, 14829773056, 14829773056},
    {"llama3.2-1b", Optimizer::sgd_momentum, OptimizerImplementation::foreach, DType::float32, 256, 14829773056, 14829773056},
    {"llama3.2-1b", Optimizer::sgd, OptimizerImplementation::foreach, DType::float32, 256, 9886515456, 9886515456},
};

// With torch.nn.utils.clip_grad_norm_, whose norms are the phase's peak when the step itself is fused.
const Recorded clipped[] = {
    {"gpt2", Optimizer::adamw, OptimizerImplementation::fused, DType::float32, 0, 1991037520, 1991038708},
    {"gpt2", Optimizer::adamw, OptimizerImplementation::fused, DType::bfloat16, 0, 995519056, 995519650},
    {"llama2-7b", Optimizer::adamw, OptimizerImplementation::fused, DType::float32, 512, 107814651532, 107814653864},
    {"llama2-7b", Optimizer::adamw, OptimizerImplementation::fused, DType::bfloat16, 512, 53907326604, 53907327770},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::fused, DType::float32, 256, 19773031240, 19773032412},
    {"llama3.2-1b", Optimizer::adamw, OptimizerImplementation::fused, DType::bfloat16, 256, 9886516040, 9886516626},
};
// clang-format on

std::vector<SteppedTensor> tensors_of(const Recorded& run) {
  const Model model = read_config("{\"model\": \"" + std::string(run.model) + "\"}").config.model;
  return stepped_tensors(parameters(model), run.weights, run.weights, run.weights);
}

/// Weights, gradients and buffers.
Bytes others(const Recorded& run, const std::vector<SteppedTensor>& tensors) {
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
  for (const Recorded& run : recorded) {
    CAPTURE(run.model, static_cast<int>(run.optimizer), static_cast<int>(run.implementation), name(run.weights));
    const auto tensors = tensors_of(run);
    const StateBytes states = state_bytes(run.optimizer, run.implementation, tensors);
    CHECK(states.paged == 0);
    CHECK(others(run, tensors) + states.resident == run.end);
    CHECK(run.end + step_temporary_peak(run.optimizer, run.implementation, tensors) == run.peak);
  }
}

TEST_CASE("optimizer facts: clipping holds a norm for each tensor, their stack and the total") {
  for (const Recorded& run : clipped) {
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
