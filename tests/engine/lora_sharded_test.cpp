// LoRA over several GPUs: frozen weights are gathered and not reduced, adapters have gradients and states.
#include <algorithm>

#include "engine/estimate.h"
#include "engine/tape/fold.h"
#include "engine/training/step.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"
#include "tests/small_models.h"

using namespace trainmem;

namespace {

constexpr std::int64_t h = 1024;
constexpr std::int64_t i = 2816;
constexpr std::int64_t layers = 8;
constexpr std::int64_t rank = 16;
/// Adapters of query and value: A is (rank, h), B is (h, rank).
constexpr std::int64_t adapters = layers * 2 * 2 * rank * h;
constexpr std::int64_t linears = layers * (4 * h * h + 3 * h * i);
constexpr std::int64_t others = layers * 2 * h + 2 * 32000 * h + h;
constexpr std::int64_t base = linears + others;

Config llama(DataParallel data_parallel, Precision precision) {
  Config config;
  config.gpu.name = "A100 SXM4 80GB";
  config.model = small_llama(layers);
  Recipe& recipe = config.recipe;
  recipe.precision = precision;
  recipe.sequence_length = 512;
  recipe.data_parallel = data_parallel;
  recipe.data_parallel_size = 4;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  recipe.lora.rank = rank;
  recipe.lora.targets = "q,v";
  return config;
}

Bytes at_end(const Config& config, Component component) {
  return fold(run_training(config, {.steps = 2, .fold = true})).back().end.components[component];
}

constexpr Bytes rotary = 2 * 32 * 4;            // inverse frequencies, twice
constexpr Bytes cast_rotary = 2 * 32 * 2;       // FSDP1's mixed precision casts buffers, too
constexpr Bytes counters = layers * 2 * 2 * 4;  // fused AdamW's step counters

}  // namespace

TEST_CASE("LoRA under FSDP2: shards of the base in 16 bits, of the adapters in fp32, states of the adapters alone") {
  const Config config = llama(DataParallel::fsdp, Precision::bf16);
  CHECK(at_end(config, Component::weights) == 2 * base / 4 + 4 * adapters / 4 + rotary);
  CHECK(at_end(config, Component::optimizer_states) == 2 * 4 * adapters / 4 + counters);
  CHECK(at_end(config, Component::gradients) == 0);
  CHECK(estimate(config).trainable_parameters == adapters);
}

// accelerate upcasts what is trained and leaves the frozen weights in 16 bits.
TEST_CASE("LoRA under FSDP1: shards of the base in 16 bits, of the adapters in fp32, gradients of the adapters alone") {
  Config config = llama(DataParallel::fsdp, GENERATE(Precision::bf16, Precision::fsdp_bf16));
  config.recipe.fsdp_version = 1;
  config.recipe.fsdp_wrap_embeddings = false;
  const Bytes buffers = config.recipe.precision == Precision::fsdp_bf16 ? cast_rotary : rotary;
  CHECK(at_end(config, Component::weights) == 2 * base / 4 + 4 * adapters / 4 + buffers);
  CHECK(at_end(config, Component::gradients) == 4 * adapters / 4);  // they stay until the next forward
  CHECK(at_end(config, Component::optimizer_states) >= 2 * 4 * adapters / 4);
  CHECK(at_end(config, Component::optimizer_states) <= 2 * 4 * adapters / 4 + counters);
}

TEST_CASE("LoRA under ZeRO: every GPU has the base whole, and its part of the adapters' master weights and states") {
  const Config config = llama(GENERATE(DataParallel::zero1, DataParallel::zero2), Precision::bf16_mixed);
  CHECK(at_end(config, Component::weights) == 2 * (base + adapters) + rotary);
  CHECK(at_end(config, Component::master_weights) == 4 * adapters / 4);
  CHECK(at_end(config, Component::optimizer_states) >= 2 * 4 * adapters / 4);
  CHECK(at_end(config, Component::optimizer_states) <= 2 * 4 * adapters / 4 + 8);
}

TEST_CASE("LoRA under ZeRO-3: parts of the base, and parts of the adapters with master weights and states") {
  const Config config = llama(DataParallel::zero3, Precision::bf16_mixed);
  CHECK(at_end(config, Component::weights) == 2 * (base + adapters) / 4 + rotary);
  CHECK(at_end(config, Component::master_weights) == 4 * adapters / 4);
  // Adapters and norms are smaller than stage3_param_persistence_threshold: they stay whole.
  CHECK(at_end(config, Component::gathered_parameters) == 2 * (adapters + layers * 2 * h + h));
}

// bitsandbytes: half a byte a weight and, doubly quantised, a byte for 64 weights, 4 bytes for 64 * 256, and constants.
TEST_CASE("QLoRA under FSDP: packed weights are shards, their scales are not") {
  Config config = llama(DataParallel::fsdp, Precision::bf16);
  config.recipe.fsdp_version = GENERATE(1, 2);
  config.recipe.fsdp_wrap_embeddings = false;
  config.recipe.quantization = Quantization::nf4_double;
  const Bytes constants = layers * 7 * (256 + 1 + 16) * 4;
  const Bytes scales = linears / 64 + linears / 64 / 256 * 4 + constants;
  CHECK(at_end(config, Component::weights) == linears / 2 / 4 + scales + 2 * others / 4 + 4 * adapters / 4 + rotary);
}

TEST_CASE("LoRA over several GPUs: the folded tape has the peaks of the recorded one") {
  Config config = llama(DataParallel::fsdp, GENERATE(Precision::bf16, Precision::fsdp_bf16));
  config.recipe.fsdp_version = GENERATE(1, 2);
  config.recipe.recomputation = GENERATE(Recomputation::none, Recomputation::full);
  CHECK(highest_peak(config, {.fold = true}) == highest_peak(config, {.fold = false}));
}

// Nothing is as large as the logits: without them the peak falls by at least fp32 log-probabilities and gradient.
TEST_CASE("a loss fused with the head under FSDP: the head's gradient is reduced, no logits are there") {
  Config config = llama(DataParallel::fsdp, Precision::fsdp_bf16);
  config.recipe.fsdp_version = GENERATE(1, 2);
  config.recipe.fsdp_wrap_embeddings = false;
  config.recipe.lora.rank = GENERATE(0, 16);
  config.recipe.sequence_length = 2048;
  const auto highest = [&] {
    Bytes most = 0;
    for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2, .fold = true})))
      if (phase.phase != Phase::optimizer_step) most = std::max(most, phase.peak.total);
    return most;
  };
  const Bytes full = highest();
  config.recipe.loss = Loss::fused_linear;
  CHECK(full - highest() > Bytes{8} * 2048 * 32000 / 2);
  const Bytes buffers = config.recipe.fsdp_version == 1 ? cast_rotary : rotary;
  if (config.recipe.lora.rank == 0) CHECK(at_end(config, Component::weights) == 4 * base / 4 + buffers);
}

// Where the checkpoint is around the wrapper, the hook that frees a frozen flat parameter holds the accumulation nodes
// of the block's inputs, which hold the inputs and their gradients: two tensors a block and token at the end of
// backward, where the checkpoint alone is one.
TEST_CASE(
    "LoRA under FSDP1 with re-entrant recomputation holds input and gradient of every block until backward ends") {
  Config config = llama(DataParallel::fsdp, Precision::bf16);
  config.recipe.fsdp_version = 1;
  config.recipe.fsdp_wrap_embeddings = false;
  config.recipe.recomputation = Recomputation::full;
  config.recipe.transformers_release = TransformersRelease::before_4_46;
  config.model.vocab_size = 1000;  // so that blocks, not logits, make the peak
  const auto peak = [&](std::int64_t depth, std::int64_t tokens, bool folded) {
    config.model.num_hidden_layers = depth;
    config.recipe.sequence_length = tokens;
    Bytes most = 0;
    for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2, .fold = folded})))
      if (phase.phase == Phase::backward) most = std::max(most, phase.peak.total);
    return most;
  };
  for (const bool reentrant : {false, true}) {
    config.recipe.recomputation_reentrant = reentrant;
    const Bytes of_a_layer = peak(9, 2048, false) - peak(8, 2048, false);
    const Bytes of_a_shorter_one = peak(9, 1024, false) - peak(8, 1024, false);
    CHECK(of_a_layer - of_a_shorter_one == (reentrant ? 2 : 1) * Bytes{1024} * h * 2);
    CHECK(peak(9, 2048, true) == peak(9, 2048, false));
  }
}

// torch/distributed/fsdp/_init_utils.py, _init_param_handle_from_module: the parameters on the GPU, the buffers that
// broadcast them, the flat parameter. The root is wrapped last: embedding, final norm and head of 32000 tokens.
TEST_CASE("FSDP1: while a group is wrapped its weights are there three times beside the shards") {
  Config config = llama(DataParallel::fsdp, Precision::bf16);
  config.recipe.fsdp_version = 1;
  config.recipe.fsdp_wrap_embeddings = false;
  config.recipe.lora.rank = 0;
  const FoldedPhase initial = fold(run_training(config, {.steps = 1})).front();
  CHECK(initial.phase == Phase::initialise);
  const Bytes root = 2 * (2 * 32000 * h + h);
  CHECK(initial.end.total == 2 * base / 4 + rotary);
  CHECK(initial.peak.total == initial.end.total + 3 * root);
}

// The same under PyTorch's own apply_activation_checkpointing, which reaches inside the wrapped layers: nothing is
// held.
TEST_CASE("LoRA under FSDP1: layers that recompute inside their wrapper hold one tensor a block until backward ends") {
  Config config = llama(DataParallel::fsdp, Precision::bf16);
  config.recipe.framework = Framework::pytorch;
  config.recipe.fsdp_version = 1;
  config.recipe.fsdp_wrap_embeddings = false;
  config.recipe.recomputation = Recomputation::full;
  config.recipe.recomputation_reentrant = true;
  config.recipe.transformers_release = TransformersRelease::before_4_46;
  config.recipe.lora.adapter_dtype = DType::bfloat16;
  config.model.vocab_size = 1000;
  const auto peak = [&](std::int64_t depth, std::int64_t tokens) {
    config.model.num_hidden_layers = depth;
    config.recipe.sequence_length = tokens;
    Bytes most = 0;
    for (const FoldedPhase& phase : fold(run_training(config, {.steps = 2})))
      if (phase.phase == Phase::backward) most = std::max(most, phase.peak.total);
    return most;
  };
  const Bytes of_a_layer = peak(9, 2048) - peak(8, 2048);
  const Bytes of_a_shorter_one = peak(9, 1024) - peak(8, 1024);
  CHECK(of_a_layer - of_a_shorter_one == Bytes{1024} * h * 2);
}
