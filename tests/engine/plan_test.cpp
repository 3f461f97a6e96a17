// Plans: layouts use all GPUs, fit by a fresh estimate, and stand in the promised order.
#include "engine/advice/plan.h"

#include <string>

#include "engine/border/answer.h"
#include "engine/border/border.h"
#include "engine/codec/link.h"
#include "engine/text/json_tree.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

Plan planned(const std::string& request, std::int64_t gpus) {
  const PlanAnswer answer = plan_request(request, gpus);
  REQUIRE(answer.issues.empty());
  return answer.plan;
}

}  // namespace

TEST_CASE("plan: every layout uses all GPUs and fits by a fresh estimate") {
  struct Request {
    const char* link;
    std::int64_t gpus;
  };
  for (const Request& request : {Request{"model=gpt3-175b&gpu=a100-80gb-sxm&recipe=megatron-gpt3-175b", 1024},
                                 Request{"model=llama3.1-405b&gpu=h100-sxm&fw=megatron&seq=8192", 4096},
                                 Request{"model=llama3.1-70b&gpu=h100-sxm&recipe=torchtitan-llama3-70b", 64},
                                 Request{"model=llama2-7b&gpu=a100-80gb-sxm", 8},
                                 Request{"model=opt-1.3b&gpu=a100-80gb-sxm&recipe=zero2-8-gpus", 8}}) {
    INFO(request.link);
    const Plan plan = planned(request.link, request.gpus);
    REQUIRE(!plan.layouts.empty());
    CHECK(plan.layouts.size() <= most_layouts);
    CHECK(plan.fitting >= static_cast<std::int64_t>(plan.layouts.size()));
    CHECK(plan.tried >= plan.fitting);
    for (const Layout& layout : plan.layouts) {
      const std::string link = format_link(layout.config);
      INFO(link);
      const Answer fresh = answer_request(link);
      REQUIRE(fresh.issues.empty());
      CHECK(fresh.result.num_gpus == request.gpus);
      CHECK(fresh.result.verdict.fit != Fit::does_not_fit);
      CHECK(fresh.result.device.expected == layout.after.device.expected);
      CHECK(layout.config.recipe.tensor_parallel <= gpus_of_a_node);
    }
  }
}

TEST_CASE("plan: what fits on one GPU without recomputation comes first") {
  const Plan plan = planned("model=gpt2&gpu=a100-80gb-sxm&seq=1024", 1);
  REQUIRE(plan.layouts.size() == 1);
  CHECK(plan.layouts[0].config.recipe.recomputation == Recomputation::none);
  CHECK(plan.layouts[0].repeated_arithmetic == 0);
  CHECK(plan.layouts[0].waiting == 0);
}

// Meta's 405B pre-training, The Llama 3 Herd of Models (arXiv:2407.21783), table 4, ran without recomputation on
// tensor 8 and pipeline 16; with all states divided and enough stages there is such a layout here too.
TEST_CASE("plan: 405B on 16,384 GPUs has layouts of tensor 8 with a pipeline") {
  const Plan plan = planned("model=llama3.1-405b&gpu=h100-sxm&fw=megatron&seq=8192&mbs=1&ga=16&dp=128&tp=8", 16384);
  bool found = false;
  for (const Layout& layout : plan.layouts) {
    const Recipe& r = layout.config.recipe;
    found = found || (r.tensor_parallel == 8 && r.pipeline_parallel >= 8);
  }
  CHECK(found);
}

// Twice the arithmetic of a pipeline that waits as long as it works is worse than a third more of recomputation.
TEST_CASE("plan: what fits without cached blocks alone gives way to what recomputes more and fits") {
  const Plan plan = planned("model=llama3.1-405b&gpu=h100-sxm&recipe=torchtitan-llama3-405b", 512);
  REQUIRE(!plan.layouts.empty());
  CHECK(plan.layouts[0].waiting == 0);
  CHECK(plan.layouts[0].after.verdict.fit == Fit::fits);
  for (const Layout& layout : plan.layouts) {
    if (layout.after.verdict.margin >= 0) continue;
    Config config = layout.config;
    config.recipe.recomputation = Recomputation::full;
    const std::string link = format_link(config);
    INFO(link);
    CHECK(answer_request(link).result.verdict.fit != Fit::fits);
  }
}

// FSDP casts weights itself: with autocast's copies of all blocks, 141 GB of bf16, 70B would fit no number of H100s.
TEST_CASE("plan: what runs under DDP with autocast is divided by FSDP in FSDP's precision") {
  const Plan plan = planned("model=llama3.1-70b&gpu=h100-sxm", 512);
  REQUIRE(!plan.layouts.empty());
  for (const Layout& layout : plan.layouts) {
    CHECK(layout.config.recipe.data_parallel == DataParallel::fsdp);
    CHECK(layout.config.recipe.precision == Precision::fsdp_bf16);
  }
}

TEST_CASE("plan: a configuration's batch is kept, one sequence a step becomes one for every GPU") {
  const auto batch = [](const Layout& layout) {
    const Recipe& r = layout.config.recipe;
    return r.micro_batch_size * r.gradient_accumulation_steps * r.data_parallel_size;
  };
  const Plan unsaid = planned("model=llama3.1-70b&gpu=h100-sxm&fw=torchtitan", 512);
  REQUIRE(unsaid.layouts.size() > 3);
  for (const Layout& layout : unsaid.layouts) CHECK(batch(layout) == 512);
  const Plan said = planned("model=llama3.1-70b&gpu=h100-sxm&fw=torchtitan&ga=2048", 512);
  REQUIRE(said.layouts.size() > 3);
  for (const Layout& layout : said.layouts) CHECK(batch(layout) == 2048);
}

// 8 stages and 32 micro-batches wait 7/32 = 22 % (Narayanan et al. 2021, section 2.2: (p - 1) / m), less than a third.
TEST_CASE("plan: what is tight comes after what waits less than recomputing everything costs, and before the rest") {
  bool before = false;
  bool after = false;
  for (const char* link :
       {"model=llama3.1-70b&gpu=h100-sxm&fw=megatron", "model=llama3.1-70b&gpu=h100-sxm&fw=torchtitan",
        "model=llama3.1-70b&gpu=h100-sxm&fw=megatron&ga=64&dp=8"}) {
    INFO(link);
    const Plan plan = planned(link, 512);
    for (std::size_t i = 1; i < plan.layouts.size(); ++i) {
      const auto time = [](const Layout& layout) {
        const double once = (1 + layout.repeated_arithmetic) * (1 + layout.waiting);
        return layout.after.verdict.fit == Fit::fits ? once : once * 4 / 3;
      };
      CHECK(time(plan.layouts[i - 1]) <= time(plan.layouts[i]) + 1e-9);
      const bool tight_now = plan.layouts[i].after.verdict.fit == Fit::tight;
      const bool tight_before = plan.layouts[i - 1].after.verdict.fit == Fit::tight;
      before = before || (tight_before && !tight_now);
      after = after || (tight_now && !tight_before);
    }
  }
  CHECK(before);
  CHECK(after);
}

TEST_CASE("plan: no GPUs, too many GPUs and no GPU at all are named") {
  CHECK(plan_request("model=gpt2&gpu=h100-sxm&seq=1024", 0).issues.size() == 1);
  CHECK(plan_request("model=gpt2&gpu=h100-sxm&seq=1024", 1 << 20).issues.size() == 1);
  CHECK(plan_request("model=gpt2&seq=1024", 8).issues.size() == 1);
  CHECK(plan_request("model=nothing", 8).issues.size() == 1);
}

TEST_CASE("sweep: of sequences that a policy wrote the completion differs, the prompt stays") {
  const JsonText points = parse_json(sweep("model=qwen3-0.6b&gpu=h100-sxm&objective=grpo&seq=1536&completion=1024",
                                           "/recipe/sequence_length", "512,1024,2048"));
  const JsonTree* list = points.root.find("points");
  REQUIRE(list != nullptr);
  REQUIRE(list->children.size() == 3);
  CHECK(list->children[0].find("link") == nullptr);  // the prompt alone
  CHECK(parse_link(list->children[1].find("link")->text).config.recipe.completion_length == 512);
  CHECK(parse_link(list->children[2].find("link")->text).config.recipe.completion_length == 1536);
}

TEST_CASE("plan and sweep: the border answers in JSON") {
  const JsonText plan_text = parse_json(plan("model=llama2-7b&gpu=h100-sxm", 8));
  REQUIRE(plan_text.root.find("ok")->boolean);
  CHECK(plan_text.root.find("plan")->find("num_gpus")->integer == 8);

  const JsonText points = parse_json(sweep("model=llama2-7b&gpu=h100-sxm", "/recipe/sequence_length", "1024,2048,x"));
  const std::vector<JsonTree>& list = points.root.find("points")->children;
  REQUIRE(list.size() == 3);
  for (int i = 0; i < 2; ++i) {
    const JsonTree& point = list[static_cast<std::size_t>(i)];
    const std::string value = point.find("value")->text;
    const Answer fresh = answer_request("model=llama2-7b&gpu=h100-sxm&seq=" + value);
    CHECK(point.find("after")->find("device")->find("expected")->integer == fresh.result.device.expected);
  }
  CHECK(!list[2].find("ok")->boolean);

  const JsonText models = parse_json(sweep("model=llama2-7b&gpu=h100-sxm&seq=1024", "/model", "gpt2,llama2-7b,none"));
  const std::vector<JsonTree>& sizes = models.root.find("points")->children;
  REQUIRE(sizes.size() == 3);
  CHECK(sizes[0].find("after")->find("parameters")->integer == 124439808);
  CHECK(sizes[1].find("after")->find("parameters")->integer == 6738415616);
  CHECK(!sizes[2].find("ok")->boolean);
  CHECK(!parse_json(sweep("model=gpt2&seq=1024", "/recipe/nothing", "1"))
             .root.find("points")
             ->children[0]
             .find("ok")
             ->boolean);
}
