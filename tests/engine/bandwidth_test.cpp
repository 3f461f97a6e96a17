// The bandwidth part of an answer: bytes and arithmetic of a step, and what they mean for its time.
#include "engine/bandwidth/bandwidth.h"

#include "engine/bandwidth/traffic.h"
#include "engine/config/values.h"
#include "engine/estimate.h"
#include "engine/optimizer/traffic.h"
#include "engine/presets/apply.h"
#include "engine/training/step.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

Config llama(const char* model = "llama2-7b") {
  Config config;
  Issues issues;
  apply_model_preset(model, config, issues);
  apply_gpu_preset("h100-sxm", config, issues);
  config.gpu_preset = "h100-sxm";
  REQUIRE(issues.empty());
  return config;
}

const PhaseBandwidth& phase(const Bandwidth& step, Phase wanted) {
  for (const PhaseBandwidth& line : step.phases)
    if (line.phase == wanted) return line;
  FAIL("no such phase");
  return step.phases.front();
}

double bytes(const PhaseBandwidth& line, Component component) { return line.components[component]; }

/// Bytes of a parameter whose weight, gradient and states are fp32.
double per_fp32_parameter(OptimizerImplementation implementation, bool clips) {
  Recipe recipe;
  recipe.optimizer_implementation = implementation;
  recipe.gradient_clipping = clips;
  return sum(optimizer_traffic(recipe, {4, 0, 4, 8}));
}

}  // namespace

TEST_CASE("bandwidth: a fused AdamW reads 16 and writes 12 bytes for each fp32 parameter") {
  // Weight, gradient and two moments in, weight and two moments out: aten/src/ATen/native/cuda/fused_adam_utils.cuh.
  CHECK(per_fp32_parameter(OptimizerImplementation::fused, false) == 16 + 12);
}

TEST_CASE("bandwidth: AdamW by foreach statements makes twenty passes of 4 bytes, and clipping three more") {
  CHECK(per_fp32_parameter(OptimizerImplementation::foreach, false) == 80);
  CHECK(per_fp32_parameter(OptimizerImplementation::foreach, true) == 92);
}

TEST_CASE("bandwidth: with master weights these are read and written, and the 16-bit weights written from them") {
  Recipe recipe;
  recipe.framework = Framework::megatron;
  recipe.gradient_clipping = false;
  // 2 bytes of weight written; master, two moments read and written; fp32 gradient read.
  CHECK(sum(optimizer_traffic(recipe, {2, 4, 4, 8})) == 2 + 2 * 4 + 2 * 8 + 4);
}

TEST_CASE("bandwidth: the optimizer moves bytes for every parameter of the model") {
  Config config = llama();
  config.recipe.optimizer_implementation = OptimizerImplementation::fused;
  config.recipe.gradient_clipping = false;
  const Result result = estimate(config);
  const PhaseBandwidth& step = phase(result.bandwidth, Phase::optimizer_step);
  CHECK(step.bytes == Approx(28.0 * static_cast<double>(result.parameters)).epsilon(1e-6));
  CHECK(step.flops == 0);
  CHECK(result.bandwidth.rates.front().phases.back().bound == Bound::memory);
}

// torchtune recipes/lora_finetune_single_device.py, _setup_model: adapters are made in the model's format. Weight and
// gradient and two moments of 2 bytes in, weight and two moments out.
TEST_CASE("bandwidth: the optimizer moves 14 bytes for each element of torchtune's 16-bit adapters") {
  Config config = llama();
  config.recipe = default_recipe(Framework::torchtune);
  config.recipe.precision = Precision::bf16;
  config.recipe.lora.rank = 8;
  config.recipe.optimizer_implementation = OptimizerImplementation::fused;
  config.recipe.gradient_clipping = false;
  const Result result = estimate(config);
  const PhaseBandwidth& step = phase(result.bandwidth, Phase::optimizer_step);
  CHECK(step.bytes == Approx(14.0 * static_cast<double>(result.trainable_parameters)).epsilon(1e-3));
}

TEST_CASE("bandwidth: every product reads its weight, in forward and in backward") {
  Config config = llama();
  config.recipe.precision = Precision::bf16;
  const Result result = estimate(config);
  // All weights but the embedding, whose rows are looked up: 32,000 x 4,096; norms are not products.
  const double norms = (2 * 32 + 1) * 4096;
  const double read = 2.0 * (static_cast<double>(result.parameters) - 32000.0 * 4096.0 - norms);
  CHECK(bytes(phase(result.bandwidth, Phase::forward), Component::weights) == read);
  CHECK(bytes(phase(result.bandwidth, Phase::backward), Component::weights) == read);
}

TEST_CASE("bandwidth: what forward keeps is written there and read in backward") {
  Config config = llama();
  config.recipe.precision = Precision::bf16;
  const Result result = estimate(config);
  const double written = bytes(phase(result.bandwidth, Phase::forward), Component::activations);
  const double read = bytes(phase(result.bandwidth, Phase::backward), Component::activations);
  double kept = 0;  // alive at the end of forward
  for (const PhasePeak& peak : result.phases)
    if (peak.phase == Phase::forward) kept = static_cast<double>(peak.components[Component::activations]);
  CHECK(written == Approx(kept).epsilon(0.01));
  CHECK(read == Approx(written).epsilon(0.01));
}

TEST_CASE("bandwidth: micro-batches after the first add to the gradients, which reads and writes them") {
  Config config = llama();
  config.recipe.precision = Precision::bf16;
  const Result one = estimate(config);
  config.recipe.gradient_accumulation_steps = 5;
  const Result five = estimate(config);
  const auto gradients = [](const Result& result) {
    return bytes(phase(result.bandwidth, Phase::backward), Component::gradients);
  };
  CHECK(gradients(five) == gradients(one) * (1 + 2 * 4));
  CHECK(five.bandwidth.flops == 5 * one.bandwidth.flops);
  CHECK(bytes(phase(five.bandwidth, Phase::forward), Component::weights) ==
        5 * bytes(phase(one.bandwidth, Phase::forward), Component::weights));
}

TEST_CASE("bandwidth: a folded run and a full one move the same bytes") {
  struct Case {
    const char* what;
    void (*change)(Config&);
  };
  const Case cases[] = {
      {"autocast", [](Config&) {}},
      {"accumulation",
       [](Config& c) {
         c.recipe.precision = Precision::bf16;
         c.recipe.gradient_accumulation_steps = 3;
       }},
      {"full recomputation", [](Config& c) { c.recipe.recomputation = Recomputation::full; }},
      {"reentrant recomputation",
       [](Config& c) {
         c.recipe.recomputation = Recomputation::full;
         c.recipe.recomputation_reentrant = true;
       }},
      {"LoRA", [](Config& c) { c.recipe.lora.rank = 8; }},
      {"FSDP2",
       [](Config& c) {
         c.recipe.precision = Precision::fsdp_bf16;
         c.recipe.data_parallel = DataParallel::fsdp;
         c.recipe.data_parallel_size = 8;
       }},
  };
  for (const Case& one : cases) {
    INFO(one.what);
    Config config = llama();
    one.change(config);
    const auto full = traffic_of_last_step(run_training(config, {}));
    const auto folded = traffic_of_last_step(run_training(config, {.fold = true}));
    for (int i = 0; i < phase_count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      INFO(name(static_cast<Phase>(i)));
      CHECK(sum(full[at].bytes) == Approx(sum(folded[at].bytes)).epsilon(1e-9));
      CHECK(full[at].operations == Approx(folded[at].operations).epsilon(1e-12));
      CHECK(full[at].recomputed == Approx(folded[at].recomputed).epsilon(1e-12));
    }
  }
}

TEST_CASE("bandwidth: fp8 products run at the rate of the datasheet") {
  Config config = llama();
  config.recipe = default_recipe(Framework::megatron);
  config.recipe.precision = Precision::fp8;
  CHECK(estimate(config).bandwidth.peak_flops_per_second == Approx(1979e12));  // NVIDIA H100 SXM, without sparsity
}

TEST_CASE("bandwidth: the ridge point of an H100 is its peak over its bandwidth") {
  const Result result = estimate(llama());
  const RateBandwidth& datasheet = result.bandwidth.rates.at(0);
  CHECK(datasheet.name == "datasheet");
  CHECK(datasheet.ridge_point == Approx(989.5e12 / 3352e9));
  double seconds = 0;
  for (const PhaseTime& time : datasheet.phases) seconds += time.seconds;
  CHECK(datasheet.step_seconds == Approx(seconds));
  CHECK(datasheet.tokens_per_second == Approx(4096 / seconds));
  CHECK(datasheet.model_flops_utilization > 0);
  CHECK(datasheet.model_flops_utilization < 1);
}

TEST_CASE(
    "bandwidth: a bandwidth given by the user stands beside that of the datasheet and the preset's measured one") {
  Config config = llama();
  CHECK(estimate(config).bandwidth.rates.size() == 2);
  config.gpu.measured_bandwidth_gb_per_s = 3000;
  const Result result = estimate(config);
  REQUIRE(result.bandwidth.rates.size() == 3);
  CHECK(result.bandwidth.rates[1].gb_per_s == 2575);
  CHECK(result.bandwidth.rates[2].name == "given");
  CHECK(result.bandwidth.rates[2].gb_per_s == 3000);
  config.gpu = {};
  config.gpu_preset.clear();
  CHECK(estimate(config).bandwidth.rates.empty());
}

TEST_CASE("bandwidth: recomputation is arithmetic that model FLOPs utilisation does not count") {
  Config config = llama();
  const double plain = estimate(config).bandwidth.flops;
  config.recipe.recomputation = Recomputation::full;
  config.recipe.recomputation_reentrant = true;
  const Result again = estimate(config);
  const PhaseBandwidth& backward = phase(again.bandwidth, Phase::backward);
  const PhaseBandwidth& forward = phase(again.bandwidth, Phase::forward);
  // The layers once more, but not the head, which is 2 x 4,096 tokens x 32,000 x 4,096.
  CHECK(again.bandwidth.flops - plain == Approx(forward.flops - 2.0 * 4096 * 32000 * 4096));
  CHECK(backward.recomputed_flops > 0);
}

TEST_CASE("bandwidth: training in fp32 has no known peak") {
  Config config = llama("gpt2");
  config.recipe.precision = Precision::fp32;
  config.recipe.sequence_length = 1024;
  const Result result = estimate(config);
  CHECK(result.bandwidth.peak_flops_per_second == 0);
  CHECK(result.bandwidth.rates.front().model_flops_utilization == 0);
  CHECK(result.bandwidth.rates.front().phases.front().bound == Bound::unknown);
}

TEST_CASE("bandwidth: a sliding window that flash attention knows saves its arithmetic") {
  Config config = llama("mistral-7b-v0.1");
  config.recipe.precision = Precision::bf16;
  config.recipe.attention = AttentionKernel::flash;
  config.recipe.sequence_length = 8192;
  const double windowed = estimate(config).bandwidth.flops;
  const double window = 4096;
  REQUIRE(config.model.sliding_window == 4096);
  config.model.sliding_window = 0;
  const double whole = estimate(config).bandwidth.flops;
  // Two products of 128 wide heads for each pair, 32 heads and layers, and 2.5 times as many in backward. Without a
  // window a query sees up to 8,192 keys, with it up to 4,096.
  const double pairs = 8192.0 * 8193 / 2 - (window * (window + 1) / 2 + window * window);
  CHECK(whole - windowed == Approx(3.5 * 4 * 128 * 32 * 32 * pairs));
}

TEST_CASE("bandwidth: an optimizer in backward reads the gradients as one after it does") {
  Config config = llama();
  config.recipe.gradient_clipping = false;
  const Result after = estimate(config);
  config.recipe.optimizer_implementation = OptimizerImplementation::in_backward;
  const Result inside = estimate(config);
  const auto read = [](const Result& result) {
    return bytes(phase(result.bandwidth, Phase::optimizer_step), Component::gradients);
  };
  // But for the rotary frequencies, a buffer among the weights that has no gradient.
  CHECK(read(inside) == Approx(read(after)).epsilon(1e-6));
}
