// Policies trained on their completions, reward models, and pairs without a reference: sums done by hand.
#include <algorithm>
#include <string>

#include "engine/advice/advice.h"
#include "engine/blocks/policy_loss.h"
#include "engine/estimate.h"
#include "engine/parameters/parameters.h"
#include "engine/tape/fold.h"
#include "engine/training/reference_model.h"
#include "engine/training/step.h"
#include "engine/validation/validate.h"
#include "engine/verdict.h"
#include "tests/catch.h"
#include "tests/highest_peak.h"
#include "tests/small_models.h"
#include "tests/validation_issues.h"

using namespace trainmem;

namespace {

constexpr std::int64_t h = 1024;
constexpr std::int64_t i = 2816;
constexpr std::int64_t vocabulary = 32000;
constexpr std::int64_t layers = 8;
constexpr std::int64_t without_head = layers * (4 * h * h + 3 * h * i + 2 * h) + vocabulary * h + h;

Config with(Objective objective, Precision precision = Precision::bf16_autocast) {
  Config config;
  config.gpu.name = "A100 SXM4 80GB";
  config.gpu.memory_bytes = 80'000'000'000;
  config.model = small_llama(layers);
  Recipe& recipe = config.recipe;
  recipe.objective = objective;
  recipe.precision = precision;
  recipe.micro_batch_size = 2;
  recipe.sequence_length = 768;
  recipe.completion_length = 512;
  recipe.training_loop = TrainingLoop::trainer;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  return config;
}

/// The last phase of this kind in the last step.
FoldedPhase last(const Config& config, Phase phase) {
  FoldedPhase found;
  for (const FoldedPhase& one : fold(run_training(config, {.steps = 2, .fold = true})))
    if (one.phase == phase) found = one;
  return found;
}

Bytes of_logits(const Config& config, Phase phase) {
  return last(config, phase).peak.components[Component::logits_and_loss];
}

std::string first_issue(const Config& config) {
  const Issues issues = validate(config);
  return issues.empty() ? "" : issues.front().code + " " + issues.front().path;
}

}  // namespace

// div_ on a view: the gradient laid into zeros, its copy, the part that was written and that part divided.
TEST_CASE("GRPO: four gradients of the logits are alive in backward") {
  const Config config = with(Objective::grpo);
  const Bytes whole = Bytes{2} * 513 * vocabulary * 4;
  const Bytes part = Bytes{2} * 512 * vocabulary * 4;
  const Bytes peak = of_logits(config, Phase::backward);
  CHECK(peak >= 2 * whole + 2 * part);
  CHECK(peak < (2 * whole + 2 * part) / 100 * 112);  // beside them the cast head and the loss's own
}

TEST_CASE("GRPO: logits are those of the completions") {
  Config config = with(Objective::grpo);
  const Bytes all = of_logits(config, Phase::backward);
  config.recipe.completion_length = 256;
  const Bytes half = of_logits(config, Phase::backward);
  CHECK(half < all / 100 * 56);
  CHECK(half > all / 2);
}

TEST_CASE("GRPO: a reference is there where it is asked for, and old log-probabilities are computed without autograd") {
  Config config = with(Objective::grpo);
  CHECK(reference_of(config.recipe) == ReferenceModel::none);
  CHECK(last(config, Phase::reference).peak.total == 0);
  const Alive alone = last(config, Phase::optimizer_step).end;
  config.recipe.old_log_probabilities = true;
  config.recipe.precision = Precision::fp32;
  const Bytes of_sequence = Bytes{4} * vocabulary * 512;  // exponentials, one sequence after another
  CHECK(of_logits(config, Phase::reference) >= Bytes{2} * 513 * vocabulary * 4 + of_sequence);
  CHECK(last(config, Phase::reference).end.components[Component::activations] < 1'000'000);
  config.recipe.reference_model = ReferenceModel::copy;
  const Bytes rotary = 2 * 32 * 4;
  CHECK(last(config, Phase::optimizer_step).end.components[Component::weights] ==
        alone.components[Component::weights] + 4 * (without_head + vocabulary * h) + rotary);
}

TEST_CASE("GRPO: the batch of a step stays for its micro-batches") {
  Config config = with(Objective::grpo);
  config.recipe.gradient_accumulation_steps = 8;
  // Ids and masks of prompts and completions in 64 bits, an advantage and a number beside them.
  const Alive end = last(config, Phase::optimizer_step).end;
  CHECK(end.components[Component::activations] >= 8 * 2 * 768 * 2 * 8);
  CHECK(end.components[Component::activations] < 8 * 2 * 768 * 2 * 8 + 4096);
  CHECK(estimate(config).global_batch_size == 16);
}

TEST_CASE("GRPO: vLLM's share of the GPU is a row of the device counter") {
  Config config = with(Objective::grpo);
  const Result without = estimate(config);
  config.recipe.vllm_memory_fraction = 0.5;
  const Result beside = estimate(config);
  CHECK(beside.allocated == without.allocated);
  const Bytes capacity = usable_capacity(config.gpu) > 0 ? usable_capacity(config.gpu) : config.gpu.memory_bytes;
  CHECK(beside.device.expected - without.device.expected == capacity / 2);
  config.recipe.objective = Objective::next_token;
  CHECK(estimate(config).device.expected < beside.device.expected - capacity / 4);
}

TEST_CASE("objectives of TRL: a folded run peaks where a whole one does") {
  for (const Objective objective :
       {Objective::grpo, Objective::reward, Objective::orpo, Objective::cpo, Objective::simpo, Objective::kto}) {
    Config config = with(objective);
    config.recipe.gradient_accumulation_steps = 5;
    config.recipe.old_log_probabilities = true;
    CAPTURE(static_cast<int>(objective));
    CHECK(highest_peak(config) == highest_peak(config, {.fold = false}));
    config.recipe.precision = Precision::fp32;
    config.recipe.data_parallel = DataParallel::fsdp;
    config.recipe.data_parallel_size = 4;
    if (objective == Objective::grpo) config.recipe.reference_model = ReferenceModel::copy;
    for (const std::int64_t version : {1, 2}) {
      config.recipe.fsdp_version = version;
      CHECK(highest_peak(config) == highest_peak(config, {.fold = false}));
    }
  }
}

TEST_CASE("reward models: a score of one row stands in place of the head") {
  const Config config = with(Objective::reward);
  const Result result = estimate(config);
  CHECK(result.parameters == without_head + h);
  CHECK(result.global_batch_size == 4);
  CHECK(of_logits(config, Phase::backward) < 100'000);
  const Alive end = last(config, Phase::optimizer_step).end;
  CHECK(end.components[Component::weights] == 4 * (without_head + h) + 2 * 32 * 4);
}

TEST_CASE("reward models: beside adapters the score is trained whole, as a copy") {
  Config config = with(Objective::reward);
  config.recipe.lora.rank = 8;
  config.recipe.lora.targets = "q,v";
  const std::int64_t of_adapters = layers * 2 * 8 * 2 * h;
  CHECK(estimate(config).trainable_parameters == of_adapters + h);
}

// The chosen half of the logits is copied for cross-entropy, and its log-probabilities are kept.
TEST_CASE("ORPO and CPO take cross-entropy of the chosen sequences, SimPO takes none") {
  const Bytes half = Bytes{2} * 767 * vocabulary * 4;
  const Bytes orpo = last(with(Objective::orpo), Phase::loss).end.components[Component::logits_and_loss];
  const Bytes cpo = last(with(Objective::cpo), Phase::loss).end.components[Component::logits_and_loss];
  const Bytes simpo = last(with(Objective::simpo), Phase::loss).end.components[Component::logits_and_loss];
  CHECK(orpo == cpo);
  CHECK(orpo - simpo >= half);
  CHECK(orpo - simpo < half / 100 * 101);
}

// Logits of both models, and halves of the policy's: the wanted, the others, and the completions of one of them.
TEST_CASE("KTO: single sequences beside a reference") {
  const Config config = with(Objective::kto, Precision::fp32);
  CHECK(estimate(config).global_batch_size == 2);
  CHECK(reference_of(config.recipe) == ReferenceModel::copy);
  const Bytes logits = Bytes{2} * 768 * vocabulary * 4;
  const Bytes peak = of_logits(config, Phase::loss);
  CHECK(peak > 2 * logits + logits / 2 * 3 / 768 * 767);
  CHECK(peak < 4 * logits);
}

TEST_CASE("advice: vLLM asleep gives back what it holds, alone and among what makes it fit") {
  Config config = with(Objective::grpo);
  config.recipe.vllm_memory_fraction = 0.4;
  const Result result = estimate(config);
  Bytes held = 0;
  for (const RuntimeRow& row : result.runtime)
    if (row.name == "vLLM") held += row.bytes.expected;
  CHECK(held == static_cast<Bytes>(0.4 * 80e9));  // no driver's or usable size is given
  const auto asleep = [](const std::vector<Suggestion>& all) {
    return std::find_if(all.begin(), all.end(),
                        [](const Suggestion& one) { return std::string(one.change->id) == "vllm_sleeps"; });
  };
  const Advice advice = advise(config, result);
  REQUIRE(asleep(advice.suggestions) != advice.suggestions.end());
  CHECK(asleep(advice.suggestions)->saved == held);
  CHECK(asleep(advice.suggestions)->after.allocated == result.allocated);
  config.recipe.vllm_memory_fraction = 0;
  const Advice without = advise(config, estimate(config));
  CHECK(asleep(without.suggestions) == without.suggestions.end());

  // Between what the step needs and what it needs beside vLLM: sleep alone makes it fit.
  config.recipe.vllm_memory_fraction = 0.6;
  config.gpu.memory_bytes = 2 * result.reserved.expected + 2'000'000'000;
  const Advice small = advise(config, estimate(config));
  const bool helps = std::any_of(small.remedies.begin(), small.remedies.end(), [](const Remedy& one) {
    return one.changes.size() == 1 && std::string(one.changes[0]->id) == "vllm_sleeps";
  });
  CHECK(helps);
}

TEST_CASE("validation: objectives that cannot be, and those that are not modelled") {
  const auto grpo = [](Config& c) {
    c.recipe.objective = Objective::grpo;
    c.recipe.completion_length = 512;
  };
  CHECK(issues_after(grpo).empty());
  CHECK(issues_after([&](Config& c) {
          grpo(c);
          c.recipe.completion_length = c.recipe.sequence_length;
        }) == "out_of_range /recipe/completion_length; ");
  CHECK(issues_after([&](Config& c) {
          grpo(c);
          c.recipe.reference_model = ReferenceModel::precomputed;
        }) == "contradiction /recipe/reference_model; ");
  CHECK(issues_after([&](Config& c) {
          grpo(c);
          c.recipe.reference_model = ReferenceModel::base;
        }) == "contradiction /recipe/reference_model; ");
  CHECK(issues_after([](Config& c) {
          c.recipe.objective = Objective::dpo;
          c.recipe.reference_model = ReferenceModel::none;
        }) == "contradiction /recipe/reference_model; ");
  Config config = with(Objective::reward);
  CHECK(first_issue(config).empty());
  config.model.model_type = "granite";
  CHECK(first_issue(config) == "not_yet_modelled /recipe/objective");
  config = with(Objective::orpo);
  config.recipe.lora.rank = 8;
  CHECK(first_issue(config).empty());
  config.recipe.quantization = Quantization::nf4;
  CHECK(first_issue(config) == "not_yet_modelled /recipe/quantization");
  config = with(Objective::grpo);
  config.recipe.loss = Loss::fused_linear;
  CHECK(first_issue(config) == "not_yet_modelled /recipe/loss");
  config = with(Objective::grpo, Precision::bf16_mixed);
  config.recipe.framework = Framework::deepspeed;
  config.recipe.data_parallel = DataParallel::zero3;
  config.recipe.data_parallel_size = 4;
  CHECK(first_issue(config).empty());
  config.recipe.old_log_probabilities = true;
  CHECK(first_issue(config) == "not_yet_modelled /recipe/old_log_probabilities");
  config.recipe.data_parallel = DataParallel::zero2;
  CHECK(first_issue(config).empty());
}
