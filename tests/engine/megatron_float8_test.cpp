// fp8 products of Transformer Engine under Megatron. Expected bytes follow from its linear.py and layernorm_linear.py
// (v2.9): what a layer saves for backward, and which copies of its weight live on.
#include "engine/tape/fold.h"
#include "engine/training/megatron.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

constexpr std::int64_t layers = 4;
constexpr std::int64_t tokens = 1024;

Config small_run(Precision precision) {
  Config config;
  config.gpu.architecture = GpuArchitecture::hopper;
  config.model = small_llama(layers);
  config.recipe = megatron_recipe();
  config.recipe.precision = precision;
  return config;
}

/// What is alive of a component at the end of the last phase of its kind.
Bytes at_end(const Config& config, Phase phase, Component component) {
  Bytes bytes = -1;
  for (const FoldedPhase& each : fold(run_megatron(config, {.steps = 2, .fold = true, .stage = 0})))
    if (each.phase == phase) bytes = each.end.components[component];
  return bytes;
}

Bytes weights(const Config& config) { return at_end(config, Phase::optimizer_step, Component::weights); }

Bytes activations(const Config& config) { return at_end(config, Phase::forward, Component::activations); }

}  // namespace

TEST_CASE("fp8 under Megatron: copies of the weights live on, transposed ones on Hopper alone") {
  const Bytes in_16_bits = weights(small_run(Precision::bf16_mixed));
  const std::int64_t h = 1024;
  const std::int64_t f = 2816;
  const Bytes in_layers = layers * (4 * h * h + 3 * h * f);

  Config config = small_run(Precision::fp8);
  CHECK(weights(config) == in_16_bits + 2 * in_layers);
  config.recipe.weights_dtype = DType::float8;  // --fp8-param-gather
  CHECK(weights(config) == in_16_bits);
  config.gpu.architecture = GpuArchitecture::blackwell;
  CHECK(weights(config) == in_16_bits - in_layers);
  config.recipe.weights_dtype = DType::automatic;
  CHECK(weights(config) == in_16_bits + in_layers);
}

TEST_CASE("fp8 under Megatron: a linear layer keeps one byte of each number of its input") {
  for (const std::int64_t t : {1, 2}) {
    CAPTURE(t);
    Config in_16_bits = small_run(Precision::bf16_mixed);
    in_16_bits.recipe.tensor_parallel = t;
    in_16_bits.recipe.sequence_parallel = t > 1;
    Config in_8_bits = in_16_bits;
    in_8_bits.recipe.precision = Precision::fp8;
    // Two norms' outputs and the activation's are kept in fp8 alone; attention keeps its output in 16 bits besides.
    const std::int64_t h = 1024;
    const std::int64_t f = 2816;
    CHECK(activations(in_16_bits) - activations(in_8_bits) == layers * tokens * (2 * h + f - h) / t);
  }
}

TEST_CASE("fp8 under Megatron: in blocks, weights have two copies, each with its scales") {
  const Bytes in_16_bits = weights(small_run(Precision::bf16_mixed));
  const std::int64_t h = 1024;
  const std::int64_t f = 2816;
  const Bytes in_layers = layers * (4 * h * h + 3 * h * f);
  Config config = small_run(Precision::fp8);

  // mxfp8_tensor.py, get_scale_shape: a byte for 32 numbers of either copy; all sizes are multiples of 128.
  config.recipe.fp8_recipe = Fp8Recipe::mxfp8;
  config.gpu.architecture = GpuArchitecture::blackwell;
  CHECK(weights(config) == in_16_bits + 2 * in_layers + 2 * in_layers / 32);

  // float8_blockwise_tensor.py, get_scale_shape: fp32 for 128 x 128 numbers; the second dimension is padded to four.
  // Query, key and value 24 x 8, projection 8 x 8, gate and up 44 x 8, down 8 x 22.
  config.recipe.fp8_recipe = Fp8Recipe::blockwise;
  config.gpu.architecture = GpuArchitecture::hopper;
  const Bytes of_layer = 4 * (2 * 24 * 8 + 2 * 8 * 8 + 2 * 44 * 8 + 8 * 24 + 22 * 8);
  CHECK(weights(config) == in_16_bits + 2 * in_layers + layers * of_layer);
}

TEST_CASE("fp8 under Megatron: in blocks a layer keeps one byte of each number of its input and the scales of them") {
  for (const std::int64_t t : {1, 2})
    for (const Fp8Recipe recipe : {Fp8Recipe::blockwise, Fp8Recipe::mxfp8}) {
      CAPTURE(t, static_cast<int>(recipe));
      Config in_16_bits = small_run(Precision::bf16_mixed);
      in_16_bits.gpu.architecture = GpuArchitecture::blackwell;
      in_16_bits.recipe.tensor_parallel = t;
      in_16_bits.recipe.sequence_parallel = t > 1;
      Config in_8_bits = in_16_bits;
      in_8_bits.recipe.precision = Precision::fp8;
      in_8_bits.recipe.fp8_recipe = recipe;
      const std::int64_t h = 1024;
      const std::int64_t f = 2816;
      // Four bytes for 128 numbers or one for 32 of the inputs of all four layers.
      const Bytes scales = layers * tokens * (3 * h + f) / 32 / t;
      CHECK(activations(in_16_bits) - activations(in_8_bits) == layers * tokens * (2 * h + f - h) / t - scales);
    }
}

TEST_CASE("fp8 under Megatron: MXFP8 is Blackwell's, and blocks are of Megatron's fp8 alone") {
  const auto refused = [](const Config& config, const char* path) {
    for (const Issue& issue : validate(config))
      if (issue.code == "not_yet_modelled" && issue.path == path) return true;
    return false;
  };
  Config config = small_run(Precision::fp8);
  config.recipe.fp8_recipe = Fp8Recipe::mxfp8;
  CHECK(refused(config, "/recipe/fp8_recipe"));
  config.gpu.architecture = GpuArchitecture::blackwell;
  CHECK_FALSE(refused(config, "/recipe/fp8_recipe"));
  config.recipe.weights_dtype = DType::float8;
  CHECK(refused(config, "/recipe/weights_dtype"));
  config.recipe.weights_dtype = DType::automatic;
  config.recipe.precision = Precision::bf16_mixed;
  CHECK(refused(config, "/recipe/fp8_recipe"));
}

TEST_CASE("fp8 under Megatron: grouped experts keep one byte of each number of their rows") {
  Config in_16_bits = small_run(Precision::bf16_mixed);
  in_16_bits.model.experts.num_experts = 8;
  in_16_bits.model.experts.num_experts_per_tok = 2;
  in_16_bits.model.experts.moe_intermediate_size = 512;
  Config in_8_bits = in_16_bits;
  in_8_bits.recipe.precision = Precision::fp8;
  const std::int64_t h = 1024;
  const std::int64_t width = 512;
  CHECK(weights(in_8_bits) - weights(in_16_bits) == 2 * layers * (4 * h * h + 8 * 3 * h * width));
  // Attention's norm is kept in fp8 alone, its output in fp8 besides; two rows a token and their activations in fp8.
  // The padded routing weights are kept in place of those that came.
  const Bytes saved = layers * tokens * (h - h + 2 * (h + width));
  CHECK(activations(in_16_bits) - activations(in_8_bits) == saved);
}

TEST_CASE("fp8 under Megatron: Megatron's own layers get an issue") {
  Config config = small_run(Precision::fp8);
  config.recipe.transformer_engine = false;
  config.recipe.attention = AttentionKernel::eager;
  bool refused = false;
  for (const Issue& issue : validate(config))
    refused |= issue.code == "not_yet_modelled" && issue.path == "/recipe/transformer_engine";
  CHECK(refused);
}
