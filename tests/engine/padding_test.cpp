// Batches that are padded: masks of attention, what flash_attention_2 takes out and puts back, and labels that are
// smoothed. Sums are done by hand.
#include "tests/catch.h"
#include "tests/highest_peak.h"
#include "tests/last_phase.h"
#include "tests/small_models.h"
#include "tests/validation_issues.h"

using namespace trainmem;

namespace {

constexpr std::int64_t b = 2;
constexpr std::int64_t s = 500;
constexpr std::int64_t h = 1024;
constexpr std::int64_t layers = 8;
constexpr std::int64_t vocabulary = 32000;
constexpr Bytes of_tokens = b * s * 8;  // attention_mask of the batch

Config padded(AttentionKernel kernel, bool padding = true) {
  Config config;
  config.gpu.name = "A100 SXM4 80GB";
  config.model = small_llama(layers);
  Recipe& recipe = config.recipe;
  recipe.precision = Precision::bf16;
  recipe.micro_batch_size = b;
  recipe.sequence_length = s;
  recipe.attention = kernel;
  recipe.padding = padding;
  return config;
}

Bytes kept(const Config& config) { return last(config, Phase::forward).end.components[Component::activations]; }

}  // namespace

// masking_utils.py: a boolean mask (b, 1, s, s) for all; PyTorch's attention.cpp: of it an additive one in every layer,
// whose rows are padded to a multiple of 16 and which efficient attention keeps for backward. It has log-sum-exps of
// rows rounded up to 32, and neither seed nor offset in tensors of two numbers.
TEST_CASE("padding: SDPA keeps an additive mask in every layer") {
  const std::int64_t a = padded(AttentionKernel::sdpa).model.num_attention_heads.value();
  const Bytes additive = b * s * 512 * 2;  // 500 rounded up to a multiple of 16
  const Bytes sums = b * a * (512 - s) * 4;
  const Bytes seeds = 8 - 16;  // flash keeps two numbers as a seed
  CHECK(kept(padded(AttentionKernel::sdpa)) - kept(padded(AttentionKernel::sdpa, false)) ==
        of_tokens + layers * (additive + sums + seeds));
}

TEST_CASE("padding: eager attention has a mask anyway") {
  CHECK(kept(padded(AttentionKernel::eager)) == kept(padded(AttentionKernel::eager, false)) + of_tokens);
}

// modeling_flash_attention_utils.py: query, key and value are copied without padding; the output is put into zeros, so
// that the kernel's own stays beside what the next projection keeps; a place for every token.
TEST_CASE("padding: flash_attention_2 keeps tokens without padding and where they stood") {
  const Bytes tensor = b * s * h * 2;
  const Bytes of_layer = tensor + b * s * 8;
  CHECK(kept(padded(AttentionKernel::flash)) - kept(padded(AttentionKernel::flash, false)) ==
        layers * of_layer + of_tokens);
}

TEST_CASE("padding: a folded run peaks where a whole one does") {
  for (const AttentionKernel kernel : {AttentionKernel::sdpa, AttentionKernel::eager, AttentionKernel::flash}) {
    Config config = padded(kernel);
    CHECK(highest_peak(config) == highest_peak(config, {.fold = false}));
    config.recipe.recomputation = Recomputation::full;
    CHECK(highest_peak(config) == highest_peak(config, {.fold = false}));
    config.recipe.objective = Objective::dpo;
    CHECK(highest_peak(config) == highest_peak(config, {.fold = false}));
  }
}

// trainer_pt_utils.py, LabelSmoother: a copy of the logits without the last position, their log-probabilities and the
// negative of these are alive together; the first is no part of what backward needs.
TEST_CASE("label smoothing: log-probabilities and their negative are kept, the copy of the logits is not") {
  Config config = padded(AttentionKernel::sdpa, false);
  config.recipe.loss = Loss::label_smoothing;
  const Bytes shifted = b * (s - 1) * vocabulary * 2;
  const Alive made = last(config, Phase::loss).peak;
  CHECK(made.components[Component::logits_and_loss] > 3 * shifted + b * s * vocabulary * 2);
  CHECK(made.components[Component::logits_and_loss] < 3 * shifted + b * s * vocabulary * 2 + b * s * 64);
  const Bytes left = last(config, Phase::loss).end.components[Component::logits_and_loss];
  CHECK(left > 2 * shifted);
  CHECK(left < 2 * shifted + b * s * 64);
}

TEST_CASE("validation: padded batches and smoothed labels that are not modelled") {
  Config config = padded(AttentionKernel::sdpa);
  CHECK(path_of_first_issue(config).empty());
  config.recipe.framework = Framework::torchtune;
  CHECK(path_of_first_issue(config) == "not_yet_modelled /recipe/padding");
  config = padded(AttentionKernel::sdpa);
  config.recipe.compile_blocks = true;
  CHECK(path_of_first_issue(config) == "not_yet_modelled /recipe/padding");
  config = padded(AttentionKernel::sdpa, false);
  config.recipe.loss = Loss::label_smoothing;
  CHECK(path_of_first_issue(config).empty());
  config.recipe.transformers_release = TransformersRelease::before_4_46;
  CHECK(path_of_first_issue(config) == "not_yet_modelled /recipe/loss");
}
