// Advice: its numbers are those of the changed configuration, its order is the promised one, and published
// statements about single changes come out.
#include "engine/advice/advice.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/border/answer.h"
#include "engine/codec/link.h"
#include "engine/estimate.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/random_config.h"

using namespace trainmem;

namespace {

constexpr double gigabyte = 1e9;

struct Advised {
  Config config;
  Result result;
  Advice advice;

  const Suggestion* find(const std::string& id) const {
    for (const Suggestion& one : advice.suggestions) {
      if (one.change->id == id) return &one;
    }
    return nullptr;
  }
};

Advised advised(const std::string& request) {
  const Answer answer = answer_request(request);
  REQUIRE(answer.issues.empty());
  return {answer.config, answer.result, advise(answer.config, answer.result)};
}

Bytes model_states(const ComponentBytes& c) {
  return c[Component::weights] + c[Component::master_weights] + c[Component::gradients] +
         c[Component::optimizer_states];
}

void check_against_fresh_estimate(const Config& config, const Outcome& after) {
  const Answer fresh = answer_request(format_link(config));
  REQUIRE(fresh.issues.empty());
  CHECK(after.allocated == fresh.result.allocated);
  CHECK(after.components == fresh.result.components);
  CHECK(after.device.expected == fresh.result.device.expected);
  CHECK(after.device.high == fresh.result.device.high);
  CHECK(after.verdict.fit == fresh.result.verdict.fit);
  CHECK(after.num_gpus == fresh.result.num_gpus);
}

/// Without any one of its changes, a remedy of several cannot be made or does not fit.
void check_that_none_can_be_spared(const Config& config, const Remedy& remedy) {
  for (const Change* spared : remedy.changes) {
    if (remedy.changes.size() == 1) return;
    Config fewer = config;
    bool made = true;
    for (const Change* change : remedy.changes)
      made = made && (change == spared || change->apply(fewer, change->amount));
    INFO(spared->id);
    if (made && validate(fewer).empty()) CHECK(estimate(fewer).verdict.fit != Fit::fits);
  }
}

void check(const Config& config, const Result& result, const Advice& advice) {
  REQUIRE(advice.diagnoses.size() == 3);
  const Suggestion* last = nullptr;
  for (const Suggestion& one : advice.suggestions) {
    INFO(one.change->id);
    check_against_fresh_estimate(one.config, one.after);
    CHECK(one.saved == result.device.expected - one.after.device.expected);
    CHECK(one.saved > 0);
    if (last != nullptr) {
      CHECK(last->change->cost <= one.change->cost);
      if (last->change->cost == one.change->cost) CHECK(last->saved >= one.saved);
    }
    last = &one;
  }
  const bool needed = result.verdict.fit == Fit::does_not_fit || result.verdict.fit == Fit::tight;
  if (!needed) CHECK(advice.remedies.empty());
  for (const Remedy& remedy : advice.remedies) {
    CHECK(!remedy.changes.empty());
    CHECK(remedy.changes.size() <= 6);
    std::set<std::string> ids;
    for (const Change* change : remedy.changes) CHECK(ids.insert(change->id).second);
    CHECK(remedy.after.verdict.fit == Fit::fits);
    check_against_fresh_estimate(remedy.config, remedy.after);
    check_that_none_can_be_spared(config, remedy);
  }
}

}  // namespace

TEST_CASE("advice: every change's numbers are those of a fresh estimate of the changed configuration") {
  for (const char* request :
       {"model=llama2-7b&gpu=h100-sxm", "model=llama2-7b&gpu=h100-sxm&mbs=8&attn=eager&dp=8",
        "model=gpt2&gpu=rtx-4090&mbs=32&seq=1024", "model=gpt3-175b&gpu=a100-80gb-sxm&recipe=megatron-gpt3-175b",
        "model=llama3.1-8b&gpu=h100-sxm&recipe=torchtitan-llama3-8b"}) {
    INFO(request);
    const Advised a = advised(request);
    CHECK(!a.advice.suggestions.empty());
    check(a.config, a.result, a.advice);
  }
}

TEST_CASE("advice: random configurations are advised without surprises") {
  Random random(5);
  for (int i = 0; i < 12; ++i) {
    const Config config = random_valid_config(random);
    INFO(format_link(config));
    const Result result = estimate(config);
    check(config, result, advise(config, result));
  }
}

TEST_CASE("advice: what does not fit gets the cheapest change that fits, or two") {
  const Advised one = advised("model=llama2-7b&gpu=a100-80gb-sxm&precision=bf16&mbs=8&seq=4096&opt_impl=fused");
  REQUIRE(one.result.verdict.fit == Fit::does_not_fit);
  REQUIRE(one.advice.remedies.size() == 1);
  REQUIRE(one.advice.remedies[0].changes.size() == 1);
  CHECK(one.advice.remedies[0].changes[0]->cost == Cost::none);

  const Advised two = advised("model=llama3.1-70b&gpu=h100-sxm&recipe=torchtitan-llama3-8b");
  REQUIRE(two.result.verdict.fit == Fit::does_not_fit);
  for (const Suggestion& single : two.advice.suggestions) CHECK(single.after.verdict.fit != Fit::fits);
  REQUIRE(!two.advice.remedies.empty());
  for (const Remedy& remedy : two.advice.remedies) CHECK(remedy.changes.size() >= 2);
}

TEST_CASE("advice: what saves only after another change is found too, with one remedy for each price") {
  const Advised one = advised(R"({"model": "llama3-8b", "gpu": "rtx-4090"})");
  CHECK(one.find("recompute_all") == nullptr);
  std::vector<Cost> prices;
  for (const Remedy& remedy : one.advice.remedies) {
    Cost dearest = Cost::none;
    for (const Change* change : remedy.changes) dearest = std::max(dearest, change->cost);
    prices.push_back(dearest);
    CHECK((remedy.after.num_gpus > 1) == (dearest == Cost::gpus));
    CHECK((remedy.config.recipe.lora.rank > 0) == (dearest == Cost::adapters));
  }
  CHECK(prices == std::vector<Cost>{Cost::numbers, Cost::adapters, Cost::gpus});
  const Remedy& adapters = one.advice.remedies[1];
  REQUIRE(adapters.changes.size() == 2);
  CHECK(std::string(adapters.changes[0]->id) == "qlora");
  CHECK(std::string(adapters.changes[1]->id).substr(0, 9) == "recompute");
}

TEST_CASE("advice: experts that every GPU holds are divided") {
  const Advised a = advised("model=deepseek-v3&gpu=h100-sxm&recipe=megatron-gpt3-175b&pp_last=1");
  REQUIRE(a.result.verdict.fit == Fit::does_not_fit);
  REQUIRE(a.advice.remedies.size() == 1);
  REQUIRE(a.advice.remedies[0].changes.size() == 1);
  CHECK(std::string(a.advice.remedies[0].changes[0]->id) == "expert_parallel");
}

// 70.55 billion parameters, trained under FSDP2 with fp32 shards, gradients and two moments: 16 bytes each over 8 GPUs.
TEST_CASE("advice: what offloading asks of host memory is said, and a machine is not asked for more than it has") {
  const Advised a = advised("model=llama3.1-70b&gpu=h100-sxm&recipe=fsdp2-8-gpus");
  REQUIRE(a.find("offload_parameters") != nullptr);
  const auto host = static_cast<double>(a.find("offload_parameters")->after.host);
  CHECK(host == Approx(70.554e9 * 16 / 8).epsilon(0.05));

  const Advised larger = advised("model=llama3.1-405b&gpu=h100-sxm&recipe=fsdp2-8-gpus");
  CHECK(larger.find("offload_parameters") == nullptr);
  for (const Remedy& remedy : larger.advice.remedies) CHECK(!remedy.config.recipe.offload_parameters);
}

// ZeRO, arXiv:1910.02054, figure 1: 7.5 billion parameters, 64 GPUs, mixed precision Adam: 31.4 GB of model states with
// the optimizer states divided, 1.9 GB with gradients and parameters divided too.
TEST_CASE("advice: dividing states over 64 GPUs leaves what the ZeRO paper says") {
  const std::string model =
      R"({"model":{"model_type":"gpt2","vocab_size":50257,"hidden_size":4096,"num_hidden_layers":36,)"
      R"("num_attention_heads":32,"intermediate_size":16384,"max_position_embeddings":1024,"positions":"learned",)"
      R"("norm":"layernorm","norm_bias":true,"hidden_act":"gelu_new","gated_mlp":false,"attention_bias":true,)"
      R"("attention_output_bias":true,"mlp_bias":true,"tie_word_embeddings":true},"gpu":"a100-80gb-sxm",)"
      R"("recipe":{"framework":"deepspeed","precision":"fp16_mixed","sequence_length":1024,"data_parallel_size":64,)"
      R"("recomputation":"full","data_parallel":")";
  const Advised a = advised(model + "zero1\"}}");
  const double billions = static_cast<double>(a.result.parameters) / gigabyte;
  CHECK(billions == Approx(7.5).epsilon(0.01));
  CHECK(static_cast<double>(model_states(a.result.components)) / gigabyte == Approx(31.4).epsilon(0.02));
  REQUIRE(a.find("zero3") != nullptr);
  // DeepSpeed also makes an fp32 copy of the gradient's share while it steps, which the paper leaves out.
  const auto divided = static_cast<double>(model_states(a.find("zero3")->after.components)) / gigabyte;
  CHECK(divided >= Approx(1.9).epsilon(0.02));
  CHECK(divided <= Approx(1.9 + 4 * 7.5 / 64).epsilon(0.05));
}

// Korthikanti et al., arXiv:2205.05198, section 5: recomputing the attention core saves 70 % of the activations of
// GPT-3 and 65 % of those of MT-NLG.
TEST_CASE("advice: recomputing core attention saves the published share of activations") {
  struct Published {
    const char* model;
    double share;
  };
  for (const Published& published : {Published{"gpt3-175b", 0.70}, Published{"megatron-530b", 0.65}}) {
    INFO(published.model);
    const Advised a = advised("model=" + std::string(published.model) +
                              "&gpu=a100-80gb-sxm&fw=megatron&attn=eager&seq=2048&tp=8&sp=1&pp=" +
                              (published.share > 0.68 ? "8" : "35") + "&ga=64&attn_drop=0.1&drop=0.1");
    const Suggestion* one = a.find("recompute_attention");
    REQUIRE(one != nullptr);
    const auto before = static_cast<double>(a.result.components[Component::activations]);
    const auto after = static_cast<double>(one->after.components[Component::activations]);
    CHECK(1 - after / before == Approx(published.share).margin(0.02));
  }
}

TEST_CASE("advice: the three questions are answered with the bytes of the peak") {
  const Advised many = advised("model=llama2-7b&gpu=h100-sxm&mbs=8&attn=eager");
  CHECK(many.advice.diagnoses[0].yes);
  CHECK(many.advice.diagnoses[0].bytes ==
        many.result.components[Component::activations] + many.result.components[Component::logits_and_loss]);
  CHECK(many.advice.diagnoses[0].sentence.find("Yes: activations and logits are ") == 0);
  CHECK(!many.advice.diagnoses[1].yes);

  // Peak in the optimizer step, when activations are gone.
  const Advised stepping = advised("model=llama2-7b&gpu=h100-sxm");
  REQUIRE(stepping.result.peak_phase == Phase::optimizer_step);
  CHECK(stepping.advice.diagnoses[0].sentence.find(
            "No: activations and logits are next to nothing at the peak, in the optimizer step. In ") == 0);

  const Advised states = advised("model=llama2-7b&gpu=h100-sxm&dp=8");
  CHECK(states.advice.diagnoses[1].yes);
  CHECK(states.advice.diagnoses[2].yes);  // ddp: eight copies
  CHECK(!advised("model=llama2-7b&gpu=h100-sxm").advice.diagnoses[2].yes);
  CHECK(!advised("model=llama3.1-8b&gpu=h100-sxm&recipe=torchtitan-llama3-8b").advice.diagnoses[2].yes);
}
