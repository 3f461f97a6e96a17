// The engine against published runs: the files are of the form that tests/measured/README.md describes, and what the
// engine has reached it keeps. Readings come from the sources named in each file.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/accuracy/accuracy.h"
#include "engine/accuracy/accuracy_text.h"
#include "engine/accuracy/measured_report.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

using namespace trainmem;

namespace {

const CaseFolder& cases() {
  static const CaseFolder read = read_cases(source_folder() + "/tests/measured");
  return read;
}

const Accuracy& accuracy() {
  static const Accuracy measured = measure(cases());
  return measured;
}

nlohmann::json one_case() {
  return nlohmann::json::parse(R"({"source": "s", "cases": [{"id": "a", "outcome": "fits", "confidence": "high",
    "counter": "allocated", "measured_bytes": 1000, "configuration": {"model": "gpt2", "gpu": "h100-sxm"}}]})");
}

}  // namespace

TEST_CASE("published runs: every file is read, every case has its own name and a configuration without mistakes") {
  CHECK(cases().problems.empty());
  CHECK(cases().measured.size() >= 12);
  for (const MeasuredFile& file : cases().measured) {
    std::set<std::string> names;
    for (const MeasuredCase& one : file.cases) {
      CAPTURE(file.file, one.id, one.cannot_read);
      CHECK(names.insert(one.id).second);
      // What cannot be answered is not modelled yet; nothing else may be wrong with a configuration.
      CHECK((one.cannot_read.empty() || one.cannot_read.find("not yet modelled") != std::string::npos));
    }
    for (const NotUsable& one : file.not_usable) CHECK(names.insert(one.id).second);
  }
}

TEST_CASE("published runs: every certain case has an answer, but one of ring attention beside latent attention") {
  std::vector<std::string> without;
  for (const MeasuredScore& one : accuracy().measured)
    if (one.standing() == Standing::certain && !one.scored()) without.push_back(one.id);
  CHECK(without == std::vector<std::string>{"titan-dsv3-16b-cp2"});
}

// What dividing Muon's weights and states saves, which experts and a fixed difference of these tests do not touch:
// golden values of three tests on eight H100.
TEST_CASE("published runs: Megatron's three divisions of Muon differ by what was measured, within 3 %") {
  const auto run = [](const std::string& name) {
    for (const MeasuredScore& one : accuracy().measured)
      if (one.id == "moe-gpt3_moe_mcore_te_ep8_resume_torch_dist_" + name) return one;
    return MeasuredScore{};
  };
  const MeasuredScore whole = run("muon");
  REQUIRE(whole.scored());
  for (const char* divided : {"dist_muon", "dist_muon_param_layout"}) {
    const MeasuredScore one = run(divided);
    CAPTURE(divided);
    REQUIRE(one.scored());
    const auto measured = static_cast<double>(whole.readings[0].bytes.recorded - one.readings[0].bytes.recorded);
    const auto predicted = static_cast<double>(whole.readings[0].bytes.predicted - one.readings[0].bytes.predicted);
    CHECK(std::abs(predicted / measured - 1) < 0.03);
  }
}

// Functional tests of Megatron-LM with Transformer Engine, on A100, H100 and GB200: eager, flash and cuDNN attention,
// deterministic or not, without fused gradient accumulation, five pipeline layouts.
TEST_CASE("published runs: dense functional tests of Megatron-LM with Transformer Engine within 0.8 %") {
  int tests = 0;
  for (const MeasuredScore& one : accuracy().measured) {
    if (one.file != "megatron-goldens" || !one.scored() || one.id.rfind("gpt3_mcore_te", 0) != 0) continue;
    if (one.confidence == Confidence::uncertain) continue;
    CAPTURE(one.id);
    ++tests;
    CHECK(std::abs(one.error()) < 0.008);
  }
  CHECK(tests >= 30);
}

TEST_CASE("published runs: dense Megatron-LM on B200 within 0.02 %, transformers on one A100 within 0.2 %") {
  int megatron = 0;
  int one_gpu = 0;
  int adapters_under_fsdp = 0;
  for (const MeasuredScore& one : accuracy().measured) {
    if (!one.scored() || one.readings.empty() || one.readings.front().counter != MemoryCounter::allocated) continue;
    CAPTURE(one.file, one.id, one.error());
    if (one.file == "megatron-b200" && one.id.rfind("llama3", 0) == 0 && one.id.find("_cp") == std::string::npos) {
      ++megatron;
      CHECK(std::abs(one.error()) <= 0.0002);
    }
    if (one.file == "fms-acceleration" && one.confidence == Confidence::high &&
        one.id.find("-g1-") != std::string::npos) {
      ++one_gpu;
      CHECK(std::abs(one.error()) <= 0.002);
    }
    // Adapters under FSDP1 with Liger's kernels: what the hooks of frozen groups hold is more than half of it.
    if (one.file == "fms-acceleration" && one.id.find("fast-kernels-liger-llama3-8b-lora-g") != std::string::npos &&
        one.id.find("-g1-") == std::string::npos) {
      ++adapters_under_fsdp;
      CHECK(std::abs(one.error()) <= 0.0002);
    }
  }
  CHECK(megatron >= 30);
  CHECK(adapters_under_fsdp == 5);
  CHECK(one_gpu >= 10);
}

// The most that any of eight ranks reserved: the ranks' shards are cut at other places, so that each has its own gaps.
TEST_CASE("published runs: reserved bytes of Megatron-LM on B200 within 0.5 %, of shared sequences within 3.2 %") {
  int runs = 0;
  int of_two_stages = 0;
  for (const MeasuredScore& one : accuracy().measured) {
    if (one.file != "megatron-b200" || !one.scored()) continue;
    for (const ScoredReading& reading : one.readings) {
      if (reading.counter != MemoryCounter::reserved) continue;
      CAPTURE(one.id, reading.bytes.error());
      ++runs;
      // One rank holds all shards of a tensor-parallel rank: nothing but the order of events decides.
      if (one.id.find("_tp8_") != std::string::npos) CHECK(reading.bytes.error() == 0);
      CHECK(std::abs(reading.bytes.error()) <= (one.id.find("_cp") == std::string::npos ? 0.005 : 0.032));
      if (one.id.find("llama3") != 0 || one.id.find("_pp2_") == std::string::npos) continue;
      ++of_two_stages;
      CHECK(std::abs(reading.bytes.error()) <= 0.0002);
    }
  }
  CHECK(runs == 43);
  CHECK(of_two_stages == 6);
}

// fms-acceleration, Mixtral 8x7B with LoRA on one A100 and under FSDP1, in 16 and in 4 bits: each expert a module.
// nvidia-smi less what the allocator reserves is the CUDA context, whatever the batch and the loss.
TEST_CASE("published runs: Llama 3 8B with LoRA on one A100 reserves what is computed, beside one context, to 3 MiB") {
  std::vector<double> differences;  // MiB
  for (const char* name :
       {"foak-fast-kernels-llama3-8b-lora-g1-b4", "foak-fast-kernels-liger-llama3-8b-lora-g1-b4",
        "foak-fast-kernels-liger-llama3-8b-lora-g1-b8", "foak-fast-kernels-liger-llama3-8b-lora-g1-b16"}) {
    for (const MeasuredScore& one : accuracy().measured) {
      if (one.id != std::string("fms-a100_liger-") + name) continue;
      for (const auto& reading : one.readings)
        if (reading.counter == MemoryCounter::device)
          differences.push_back(static_cast<double>(reading.bytes.recorded - reading.bytes.predicted) / 1048576);
    }
  }
  REQUIRE(differences.size() == 4);
  const auto [least, most] = std::minmax_element(differences.begin(), differences.end());
  CAPTURE(*least, *most);
  CHECK(*most - *least <= 3);
}

TEST_CASE("published runs: QLoRA with fused adapters on one A100 within 0.02 %") {
  int runs = 0;
  for (const MeasuredScore& one : accuracy().measured) {
    if (one.file != "fms-acceleration" || one.confidence == Confidence::uncertain || !one.scored()) continue;
    if (one.id.find("bnb-foak") == std::string::npos || one.id.find("-g1-") == std::string::npos) continue;
    CAPTURE(one.id, one.error());
    ++runs;
    CHECK(std::abs(one.error()) <= 0.0002);
  }
  CHECK(runs >= 8);
}

TEST_CASE("published runs: Mixtral of older releases of transformers within 0.7 %") {
  int runs = 0;
  for (const MeasuredScore& one : accuracy().measured) {
    if (one.file != "fms-acceleration" || one.id.find("mixtral") == std::string::npos || !one.scored()) continue;
    CAPTURE(one.id);
    ++runs;
    CHECK(std::abs(one.error()) <= 0.007);
  }
  CHECK(runs == 9);
}

TEST_CASE("published runs: with everything known, half are within 2 % and nine in ten within 5 %") {
  const Summary high = by_confidence(accuracy().measured, Confidence::high);
  CHECK(high.cases >= 50);
  CHECK(high.median <= 0.02);
  CHECK(high.ninetieth <= 0.05);
}

TEST_CASE("published runs: no run that fitted is called too large, no run that did not is called a fit") {
  const Outcomes seen = outcomes(accuracy().measured, Standing::certain);
  CHECK(seen.fitted > 70);
  CHECK(seen.fitted_called_too_large == 0);
  // They ran, so the allocator found room where it first freed what it had cached. One is not explained: Mistral 7B
  // with 16 sequences on one A100 (a100_80gb_liger.csv), whose free memory is computed to lie in pieces.
  CHECK(seen.beyond_capacity >= 30);
  CHECK(seen.beyond_capacity_called_out_of_memory <= 1);
  const Outcomes uncertain = outcomes(accuracy().measured, Standing::uncertain);
  CHECK(uncertain.out_of_memory >= 2);
  CHECK(uncertain.out_of_memory_called_fit == 0);
}

TEST_CASE("published runs: a file that is not of the form names the case and what is wrong") {
  CHECK(read_measured(one_case(), "f").cases.front().readings.front().bytes == 1000);
  nlohmann::json wrong = one_case();
  wrong["cases"][0]["counter"] = "resident";
  CHECK_THROWS_WITH(read_measured(wrong, "f"), "f: case a: 'resident' is not known");
  wrong = one_case();
  wrong["cases"][0]["confidence"] = "uncertain";
  CHECK_THROWS_WITH(read_measured(wrong, "f"), Catch::Contains("uncertain_because"));
  wrong = one_case();
  wrong["cases"][0]["configuration"]["model"] = "gpt-none";
  const MeasuredFile read = read_measured(wrong, "f");
  CHECK(read.cases[0].cannot_read.find("gpt-none") != std::string::npos);
  CHECK_FALSE(score(read.cases[0]).scored());
}

TEST_CASE("published runs: errors are counted by source, certain and uncertain apart") {
  MeasuredScore over;
  over.file = "f";
  over.framework = "megatron";
  over.confidence = Confidence::high;
  over.readings = {{MemoryCounter::allocated, {100, 110}}};
  MeasuredScore under = over;
  under.readings = {{MemoryCounter::allocated, {100, 98}}};
  MeasuredScore uncertain = over;
  uncertain.confidence = Confidence::uncertain;
  MeasuredScore none = over;
  none.readings.clear();
  none.not_scored = "not yet modelled";
  const std::vector<Group> groups = measured_groups({over, under, uncertain, none}, Standing::certain);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].errors.cases == 2);
  CHECK(groups[0].errors.not_scored == 1);
  CHECK(groups[0].errors.median == Approx(0.02));
  CHECK(groups[0].errors.ninetieth == Approx(0.1));
  CHECK(groups[0].errors.worst_under == Approx(-0.02));
  CHECK(measured_groups({over, under, uncertain, none}, Standing::uncertain).front().errors.cases == 1);
  over.fit = Fit::does_not_fit;
  under.fit = Fit::fits;
  under.out_of_memory = true;
  CHECK(outcomes({over, under}, Standing::certain).fitted_called_too_large == 1);
  CHECK(outcomes({over, under}, Standing::certain).out_of_memory_called_fit == 1);
  const Accuracy all{{}, {{"f", "source", "", "", {}, {{"f", "dropped", "why"}}}}, {over, under, none}};
  const std::string table = measured_table(all);
  CHECK(table.find("(verdict contradicts the outcome)") != std::string::npos);
  CHECK(table.find("not usable: dropped: why") != std::string::npos);
  const auto json = nlohmann::json::parse(accuracy_json(all));
  CHECK(json["published_runs"]["cases"][0]["readings"][0]["predicted"] == 110);
  CHECK(json["published_runs"]["files"][0]["not_usable"][0]["reason"] == "why");
}
