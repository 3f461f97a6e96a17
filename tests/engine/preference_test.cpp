// Preference tuning beside a reference model, and models of which parts are frozen: sums done by hand.
#include "engine/training/preference.h"

#include <algorithm>
#include <string>

#include "engine/advice/advice.h"
#include "engine/config/sequences.h"
#include "engine/estimate.h"
#include "engine/tape/fold.h"
#include "engine/training/step.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"
#include "tests/last_phase.h"
#include "tests/small_models.h"
#include "tests/validation_issues.h"

using namespace trainmem;

namespace {

constexpr std::int64_t h = 1024;
constexpr std::int64_t i = 2816;
constexpr std::int64_t vocabulary = 32000;
constexpr std::int64_t layers = 8;
constexpr std::int64_t of_layer = 4 * h * h + 3 * h * i + 2 * h;
constexpr std::int64_t of_embedding = vocabulary * h;
constexpr std::int64_t of_head = vocabulary * h + h;  // with the final norm
constexpr std::int64_t all = layers * of_layer + of_embedding + of_head;
constexpr Bytes rotary = 2 * 32 * 4;  // inverse frequencies, twice

Config preferences(Precision precision = Precision::bf16) {
  Config config;
  config.gpu.name = "A100 SXM4 80GB";
  config.model = small_llama(layers);
  Recipe& recipe = config.recipe;
  recipe.objective = Objective::dpo;
  recipe.precision = precision;
  recipe.micro_batch_size = 2;
  recipe.sequence_length = 512;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  return config;
}

Config frozen(std::int64_t of_layers, bool with_head) {
  Config config = preferences();
  config.recipe.objective = Objective::next_token;
  config.recipe.frozen_layers = of_layers;
  config.recipe.frozen_head = with_head;
  return config;
}

}  // namespace

TEST_CASE("preference tuning: a reference is a second copy of the weights, and no optimizer is given it") {
  Config config = preferences();
  const Alive end = last(config, Phase::optimizer_step).end;
  CHECK(end.components[Component::weights] == 2 * (2 * all + rotary));
  CHECK(end.components[Component::optimizer_states] == 2 * 2 * all + (layers * 9 + 3) * 4);  // with step counters
  config.recipe.reference_model = ReferenceModel::precomputed;
  const Alive alone = last(config, Phase::optimizer_step).end;
  CHECK(alone.components[Component::weights] == 2 * all + rotary);
  CHECK(alone.components[Component::optimizer_states] == end.components[Component::optimizer_states]);
}

TEST_CASE("preference tuning: with adapters the model without them is its own reference") {
  Config config = preferences();
  config.recipe.lora.rank = 16;
  CHECK(reference_of(config.recipe) == ReferenceModel::base);
  const Alive end = last(config, Phase::optimizer_step).end;
  CHECK(end.components[Component::weights] < 2 * all + 4 * 16 * layers * (4 * 2 * h + 3 * (h + i)) + 2 * rotary);
  CHECK(last(config, Phase::reference).peak.total > 0);
  config.recipe.reference_model = ReferenceModel::copy;
  CHECK(last(config, Phase::optimizer_step).end.components[Component::weights] ==
        end.components[Component::weights] + 2 * all + rotary);
}

// 16-bit logits of both models, in the layout of chosen and rejected sequences, are alive together.
TEST_CASE("preference tuning: the logits of policy and reference are alive when the loss is made") {
  const Config config = preferences();
  const Bytes logits = sequences_of_micro_batch(config.recipe).value() * 512 * vocabulary * 2;
  const Alive peak = last(config, Phase::loss).peak;
  // Beside them log-probabilities that backward needs, and the copy of the logits from which entropy is computed.
  CHECK(peak.components[Component::logits_and_loss] > 4 * logits / 512 * 511);
  CHECK(peak.components[Component::logits_and_loss] < 5 * logits);
  const Bytes kept = last(config, Phase::backward).peak.total;
  CHECK(kept < peak.total);  // the reference's are gone
}

TEST_CASE("preference tuning: estimates count sequences, two for each pair, and name the reference's weights") {
  const Result result = estimate(preferences());
  CHECK(result.global_batch_size == 4);
  CHECK(result.bandwidth.tokens == 4 * 512);
  CHECK(std::any_of(result.rows.begin(), result.rows.end(),
                    [](const Row& row) { return row.name.rfind("reference_weights.", 0) == 0; }));
  CHECK(std::any_of(result.phases.begin(), result.phases.end(),
                    [](const PhasePeak& phase) { return phase.phase == Phase::reference; }));
}

TEST_CASE("preference tuning: advice says what precomputed log-probabilities save") {
  const Config config = preferences();
  const Advice advice = advise(config, estimate(config));
  const auto found = std::find_if(advice.suggestions.begin(), advice.suggestions.end(), [](const Suggestion& one) {
    return std::string(one.change->id) == "precompute_reference";
  });
  REQUIRE(found != advice.suggestions.end());
  CHECK(estimate(config).allocated - found->after.allocated > 2 * all);  // the copy, and its logits
}

TEST_CASE("preference tuning: a folded run peaks where a whole one does") {
  for (const DataParallel kind : {DataParallel::ddp, DataParallel::fsdp}) {
    Config config = preferences(Precision::fp32);
    config.recipe.data_parallel = kind;
    config.recipe.data_parallel_size = 4;
    for (const std::int64_t version : {1, 2}) {
      config.recipe.fsdp_version = version;
      CHECK(highest_peak(config) == highest_peak(config, {.fold = false}));
    }
  }
}

// TRL models/utils.py, prepare_fsdp: fully_shard of the whole model alone, so its forward gathers all of it.
TEST_CASE("preference tuning: under FSDP2 the reference is gathered whole") {
  Config config = preferences(Precision::fp32);
  config.recipe.data_parallel = DataParallel::fsdp;
  config.recipe.data_parallel_size = 4;
  CHECK(last(config, Phase::reference).peak.components[Component::gathered_parameters] >= 4 * all);
  CHECK(last(config, Phase::optimizer_step).end.components[Component::weights] == 2 * (4 * all / 4 + rotary));
  config.recipe.fsdp_version = 1;  // as the policy: layer by layer
  CHECK(last(config, Phase::reference).peak.components[Component::gathered_parameters] < 4 * all / 2);
}

TEST_CASE("preference tuning: under ZeRO-3 the reference is parts, too, which are gathered for its forward") {
  Config config = preferences(Precision::bf16_mixed);
  config.recipe.framework = Framework::deepspeed;
  config.recipe.data_parallel = DataParallel::zero3;
  config.recipe.data_parallel_size = 4;
  const Alive end = last(config, Phase::optimizer_step).end;
  CHECK(end.components[Component::weights] == 2 * (2 * all / 4 + rotary));
  const FoldedPhase reference = last(config, Phase::reference);
  // All of the policy's weights come again in backward; the reference's are gathered ahead into one buffer.
  CHECK(reference.peak.components[Component::gathered_parameters] >= 2 * 2 * all);
  CHECK(reference.end.components[Component::gathered_parameters] <= 2 * all + 2 * of_head);
}

TEST_CASE("frozen layers: weights stay, gradients and states are of the rest") {
  for (const bool head : {false, true}) {
    const Config config = frozen(5, head);
    const std::int64_t trained = 3 * of_layer + (head ? 0 : of_head);
    const Alive end = last(config, Phase::optimizer_step).end;
    const std::int64_t tensors = 3 * 9 + (head ? 0 : 2);
    CHECK(end.components[Component::weights] == 2 * all + rotary);
    CHECK(end.components[Component::optimizer_states] == 2 * 2 * trained + tensors * 4);
    CHECK(last(config, Phase::backward).end.components[Component::gradients] == 2 * trained);
    CHECK(estimate(config).trainable_parameters == trained);
    CHECK(highest_peak(config) == highest_peak(config, {.fold = false}));
  }
}

// transformers modeling_utils.py, gradient_checkpointing_enable: embeddings are made to want a gradient.
TEST_CASE("frozen layers: nothing below the first trained one is kept, unless layers are recomputed") {
  const auto kept = [](const Config& config) {
    return last(config, Phase::forward).end.components[Component::activations];
  };
  CHECK(kept(frozen(7, false)) < kept(frozen(0, false)) / 4);
  Config recomputed = frozen(7, false);
  recomputed.recipe.recomputation = Recomputation::full;
  Config whole = frozen(0, false);
  whole.recipe.recomputation = Recomputation::full;
  CHECK(kept(recomputed) == kept(whole));
}

TEST_CASE("validation: references and frozen parts that cannot be, and those that are not modelled") {
  const auto dpo = [](Config& c) { c.recipe.objective = Objective::dpo; };
  CHECK(issues_after([&](Config& c) {
          dpo(c);
          c.recipe.reference_model = ReferenceModel::base;
        }) == "contradiction /recipe/reference_model; ");
  CHECK(issues_after([](Config& c) { c.recipe.frozen_layers = 33; }) == "out_of_range /recipe/frozen_layers; ");
  CHECK(issues_after([](Config& c) {
          c.recipe.frozen_layers = 32;
          c.recipe.frozen_head = true;
        }) == "contradiction /recipe/frozen_layers; ");
  CHECK(issues_after([](Config& c) {
          c.recipe.frozen_layers = 1;
          c.recipe.lora.rank = 8;
        }) == "contradiction /recipe/frozen_layers; ");
  Config config = preferences();
  CHECK(path_of_first_issue(config).empty());
  config.recipe.loss = Loss::fused_linear;
  CHECK(path_of_first_issue(config) == "not_yet_modelled /recipe/loss");
  config = preferences();
  config.recipe.framework = Framework::torchtune;
  CHECK(path_of_first_issue(config) == "not_yet_modelled /recipe/objective");
  config = preferences(Precision::bf16_mixed);
  config.recipe.framework = Framework::deepspeed;
  config.recipe.data_parallel = DataParallel::zero2;
  config.recipe.data_parallel_size = 4;
  CHECK(path_of_first_issue(config).empty());
  config.recipe.data_parallel = DataParallel::zero3;
  CHECK(path_of_first_issue(config).empty());
  config.recipe.lora.rank = 8;
  CHECK(path_of_first_issue(config) == "not_yet_modelled /recipe/reference_model");
}
