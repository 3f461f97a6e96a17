// Layers with a sliding window, and layers of several kinds that take turns.
#include <string>

#include "engine/codec/json_config.h"
#include "engine/tape/fold.h"
#include "engine/training/step.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

Config small_mistral(std::int64_t sequence) {
  Config config;
  Model& m = config.model;
  m.model_type = "mistral";
  m.vocab_size = 96;
  m.hidden_size = 64;
  m.num_hidden_layers = 3;
  m.num_attention_heads = 4;
  m.num_key_value_heads = 2;
  m.head_dim = 16;
  m.intermediate_size = 128;
  config.recipe.micro_batch_size = 2;
  config.recipe.sequence_length = sequence;
  config.recipe.precision = Precision::bf16;
  return config;
}

/// Bytes alive at the end of the first forward.
Bytes after_forward(const Config& config) {
  for (const FoldedPhase& phase : fold(run_training(config, {.steps = 1})))
    if (phase.phase == Phase::forward) return phase.end.total;
  return 0;
}

}  // namespace

TEST_CASE("sliding window: shorter than the sequence it needs a mask, and with it efficient attention") {
  constexpr Bytes b = 2;
  constexpr Bytes s = 64;
  constexpr Bytes a = 4;
  constexpr Bytes k = 2;
  constexpr Bytes d = 16;
  Config config = small_mistral(s);
  const Bytes without = after_forward(config);
  config.model.sliding_window = s + 1;
  CHECK(after_forward(config) == without);  // causal attention does it
  config.model.sliding_window = s;
  // In each layer: key and value repeated for all heads, an additive mask; the random seed is one number, not two.
  const Bytes layer = 2 * b * s * (a - k) * d * 2 + b * s * s * 2 - 8;
  CHECK(after_forward(config) == without + 3 * layer);
}

TEST_CASE("sliding window: eager attention masks either way, with the same mask") {
  Config config = small_mistral(64);
  config.recipe.attention = AttentionKernel::eager;
  const Bytes without = after_forward(config);
  config.model.sliding_window = 16;
  CHECK(after_forward(config) == without);
}

TEST_CASE("layers that take turns: folded they give the peaks of all of them") {
  for (const char* preset : {"gemma2-2b", "gemma3-270m", "gemma3-1b", "olmo3-7b", "smollm3-3b", "phi-3-mini",
                             "gemma4-31b", "gemma4-26b-a4b"}) {
    for (const bool reentrant : {false, true}) {
      Config config = read_config("{\"model\": \"" + std::string(preset) + "\"}").config;
      config.recipe.micro_batch_size = 1;
      config.recipe.sequence_length = 5000;  // longer than their windows, and not a multiple of 16
      config.recipe.recomputation = reentrant ? Recomputation::full : Recomputation::none;
      config.recipe.recomputation_reentrant = reentrant;
      CAPTURE(preset, reentrant);
      const std::vector<FoldedPhase> folded = fold(run_training(config, {.steps = 2, .fold = true}));
      const std::vector<FoldedPhase> full = fold(run_training(config, {.steps = 2, .fold = false}));
      REQUIRE(folded.size() == full.size());
      for (std::size_t i = 0; i < full.size(); ++i) {
        CHECK(folded[i].peak.total == full[i].peak.total);
        CHECK(folded[i].end.total == full[i].end.total);
      }
    }
  }
}
