// Arithmetic of training steps against published counts.
#include "engine/bandwidth/bandwidth.h"
#include "engine/estimate.h"
#include "engine/presets/apply.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

Config preset(const char* model) {
  Config config;
  Issues issues;
  apply_model_preset(model, config, issues);
  REQUIRE(issues.empty());
  return config;
}

}  // namespace

// Brown et al. 2020 (arXiv:2005.14165), table D.1: 174,600 M parameters, 300 B tokens, 6 operations for each.
TEST_CASE("Brown et al. 2020, table D.1: GPT-3 175B took 3.14e23 operations") {
  const double without_attention = model_flops_per_token(preset("gpt3-175b").model, 174600000000, 0);
  CHECK(without_attention * 300e9 == Approx(3.14e23).epsilon(0.002));
}

// Chowdhery et al. 2022 (arXiv:2204.02311), appendix B: 540.35 B parameters, 118 layers, 48 heads of 256, 2,048 tokens;
// 238.3 thousand tokens a second on 6,144 chips of 275 TFLOP/s.
TEST_CASE("Chowdhery et al. 2022, appendix B: PaLM 540B reached 46.2 %, 45.7 % without attention") {
  Model palm;
  palm.num_hidden_layers = 118;
  palm.num_attention_heads = 48;
  palm.head_dim = 256;
  const double chips = 6144 * 275e12;
  CHECK(238.3e3 * model_flops_per_token(palm, 540350000000, 2048) / chips == Approx(0.462).margin(0.0005));
  CHECK(238.3e3 * model_flops_per_token(palm, 540350000000, 0) / chips == Approx(0.457).margin(0.0005));
}

// Narayanan et al. 2021 (arXiv:2104.04473), appendix: with recomputation of every layer, 96 B s l h^2 (1 + s / 6h + V /
// 16lh).
TEST_CASE("Narayanan et al. 2021, appendix: the tape of a recomputed GPT does the published number of operations") {
  Config config = preset("gpt2");
  config.recipe.framework = Framework::megatron;
  config.recipe.precision = Precision::bf16_mixed;
  config.recipe.attention = AttentionKernel::eager;
  config.recipe.recomputation = Recomputation::full;
  config.recipe.sequence_length = 1024;
  config.recipe.micro_batch_size = 4;
  config.recipe.gradient_accumulation_steps = 2;
  const double B = 8, s = 1024, l = 12, h = 768, V = 50257;
  const double published = 96 * B * s * l * h * h * (1 + s / (6 * h) + V / (16 * l * h));
  CHECK(estimate(config).bandwidth.flops == Approx(published).epsilon(1e-9));
}

// Chowdhery et al. 2022, appendix B, with the parameters that are multiplied: 6N + 12LHQT for each token.
TEST_CASE("Chowdhery et al. 2022, appendix B: the tape of a Llama with written-out attention does as many operations") {
  Config config = preset("llama2-7b");
  config.recipe.attention = AttentionKernel::eager;
  const Result result = estimate(config);
  const std::int64_t embedding = 32000 * 4096;
  const std::int64_t norms = (2 * 32 + 1) * 4096;
  const double published = model_flops_per_token(config.model, result.parameters - embedding - norms, 4096);
  CHECK(result.bandwidth.flops / result.bandwidth.tokens == Approx(published).epsilon(1e-9));
}

// Dao et al. 2022 (arXiv:2205.14135): the backward of flash attention computes the scores again, two products more than
// half of the forward; Dao 2023 (arXiv:2307.08691), section 4.1: half of it under a causal mask, 2.5 times in backward.
TEST_CASE(
    "Dao 2023, section 4.1: causal flash attention does 4 s^2 d heads / 2 operations, in backward 2.5 times that") {
  const auto attention = [](std::int64_t length) {
    Config config = preset("llama2-7b");
    config.recipe.precision = Precision::bf16;
    config.recipe.sequence_length = length;
    const Bandwidth step = estimate(config).bandwidth;
    const double linear = 6.0 * (6738415616.0 - 32000 * 4096 - 65 * 4096) * static_cast<double>(length);
    return step.flops - linear;
  };
  const double s = 2048;
  CHECK(attention(2048) == Approx(3.5 * 4 * s * s * 128 * 32 / 2 * 32).epsilon(0.001));
}
