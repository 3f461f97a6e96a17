// The engine against recorded steps: every phase's peak and end of the last step, allocated bytes.
//
// Recorded values and how they came to be: tests/traces/README.md.
#include <algorithm>
#include <cmath>
#include <string>

#include "engine/accuracy/case_folder.h"
#include "engine/accuracy/compare_events.h"
#include "engine/accuracy/event_stream.h"
#include "engine/accuracy/predict.h"
#include "engine/accuracy/report.h"
#include "engine/accuracy/rows_report.h"
#include "engine/accuracy/score.h"
#include "engine/accuracy/trace_case.h"
#include "engine/parameters/parameters.h"
#include "engine/text/list.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

using namespace trainmem;

namespace {

constexpr double limit = 0.005;
const std::string folder = source_folder() + "/tests/traces/";

CaseScore score_of(const TraceCase& trace) {
  return score(trace, trace.cannot_translate.empty() ? predict(trace) : Prediction{});
}

TraceCase find_case(const std::string& file, const std::string& id) {
  for (TraceCase& one : read_trace_file(folder + file)) {
    if (one.id == id) return one;
  }
  FAIL("no case " << id);
  return {};
}

}  // namespace

TEST_CASE("recorded steps: every phase's peak and end within 0.5 %") {
  const auto [file, not_expressible] = GENERATE(table<std::string, int>({
      {"transformers_gpt2", 0},
      {"transformers_llama", 0},
      {"transformers_mistral", 0},
      {"transformers_qwen2", 0},
      {"transformers_gemma", 0},
      {"transformers_gemma2", 0},
      {"transformers_gemma3_text", 0},
      {"transformers_phi3", 0},
      {"transformers_olmo", 0},
      {"transformers_olmo2", 0},
      {"transformers_cohere", 0},
      {"transformers_stablelm", 0},
      {"transformers_gpt_neox", 0},
      {"transformers_opt", 0},
      {"transformers_phi", 0},
      {"transformers_gptj", 0},
      {"transformers_bloom", 0},
      {"transformers_mpt", 0},
      {"experts", 0},
      {"lora", 0},
      {"ddp", 0},
      {"fsdp1", 0},
      {"fsdp2", 0},
      {"zero", 0},
      {"torchtitan", 0},
      {"torchtitan_2026", 0},
      {"torchtitan_experts", 0},
      {"torchtune", 0},
      {"litgpt", 0},
      {"tensor_parallel", 0},
      {"tensor_parallel_optimizers", 0},
      {"tensor_parallel_plan", 0},
      {"other_families", 0},
      {"other_hybrids", 0},
      {"other_gemma4", 0},
      {"other_recent", 0},
      {"other_small_vocabularies", 0},
      {"other_classes", 0},
      {"other_language_models", 0},
      {"other_recurrent", 0},
      {"other_variants", 0},
      {"other_expert_adapters", 0},
      {"other_all_linear", 0},
      {"other_settings", 0},
      {"llm_foundry", 0},
      {"plain_runs", 0},
      {"drawn_settings", 0},
      {"drawn_shapes", 0},
      {"drawn_families", 0},
      {"drawn_pairs", 0},
      {"drawn_plain", 0},
      {"drawn_released", 0},
      {"drawn_unusual", 0},
      {"drawn_further", 0},
      {"drawn_fsdp1", 0},
      {"drawn_fsdp1_words", 0},
      {"drawn_fsdp2", 0},
      {"drawn_ddp", 0},
      {"drawn_zero", 0},
      {"preference", 0},
      {"policy", 0},
      {"reward", 0},
      {"pairs", 0},
      {"unpaired", 0},
      {"frozen", 0},
      {"padding", 0},
      {"zero_preference", 0},
      {"label_smoothing", 0},
  }));
  CAPTURE(file);
  const std::vector<TraceCase> cases = read_trace_file(folder + file + ".json");
  REQUIRE_FALSE(cases.empty());
  int without_words = 0;  // for what was recorded
  for (const TraceCase& trace : cases) {
    if (!trace.cannot_translate.empty()) {
      ++without_words;
      continue;
    }
    const CaseScore one = score_of(trace);
    CAPTURE(trace.id, one.not_scored);
    CHECK(one.scored());
    for (const PhaseScore& phase : one.phases) {
      CAPTURE(phase.phase, phase.peak.recorded, phase.peak.predicted, phase.end.recorded, phase.end.predicted);
      CHECK(std::abs(phase.peak.error()) <= limit);
      CHECK(std::abs(phase.peak_without_scratch.error()) <= limit);
      CHECK(std::abs(phase.end.error()) <= limit);
    }
  }
  CHECK(without_words == not_expressible);
}

// Some classes hold what balances their experts as a buffer, which PyTorch does not count, some as a parameter.
TEST_CASE("recorded steps: each model has as many parameters as PyTorch counted") {
  int checked = 0;
  for (const TraceCase& trace : read_cases(folder).traces) {
    const bool of_transformers =
        trace.file.rfind("transformers_", 0) == 0 || has_item(
                                                         "other_classes,other_families,other_hybrids,other_gemma4,"
                                                         "other_language_models,other_recent,other_recurrent,"
                                                         "other_variants",
                                                         trace.file);
    if (!of_transformers || trace.config.recipe.lora.rank > 0) continue;
    CAPTURE(trace.file, trace.id);
    std::int64_t trainable = 0;
    for (const ParameterTensor& tensor : parameters(trace.config.model)) {
      if (tensor.trainable && tensor.tied_to == nullptr) trainable += tensor.elements();
    }
    const std::int64_t all = parameter_count(trace.config.model);
    CHECK((trace.parameters == trainable || trace.parameters == all));
    ++checked;
  }
  CHECK(checked > 400);
}

TEST_CASE("recorded steps: reserved bytes within 3 %, default and expandable segments") {
  int scored = 0;
  for (const TraceCase& trace : read_cases(folder).traces) {
    if (!trace.cannot_translate.empty() || trace.reserved.by_default == 0) continue;
    const CaseScore one = score_of(trace);
    if (!one.scored()) continue;
    CAPTURE(trace.file, trace.id, one.reserved.error(), one.reserved_expandable.error());
    CHECK(std::abs(one.worst_reserved()) <= 0.03);
    ++scored;
  }
  CHECK(scored > 450);
}

TEST_CASE("recorded steps: a model has exactly the recorded bytes of weights") {
  for (const TraceCase& trace : read_cases(folder).traces) {
    if (trace.file.rfind("transformers_", 0) != 0 || !trace.cannot_translate.empty()) continue;
    const CaseScore one = score_of(trace);
    if (!one.scored()) continue;
    CAPTURE(trace.file, trace.id);
    REQUIRE(one.phases.front().phase == "init");
    CHECK(one.phases.front().end.recorded == one.phases.front().end.predicted);
  }
}

TEST_CASE("recorded steps: our event stream is the recorded one, event by event") {
  const auto [file, stream, id] = GENERATE(table<std::string, std::string, std::string>({
      {"gpt2", "gpt2-bf16", "gpt2/bf16/attention=sdpa/checkpointing=none/batch=2/seq=1024"},
      {"gpt2", "gpt2-amp-full", "gpt2/amp/attention=eager/checkpointing=full/batch=2/seq=1024"},
      {"llama", "llama3.2-1b-bf16", "llama3.2-1b/bf16/attention=sdpa/checkpointing=none/batch=2/seq=1024"},
  }));
  const EventStream recorded = read_event_stream(folder + "events/" + stream + ".json");
  const TraceCase trace = find_case("transformers_" + file + ".json", id);
  const Prediction prediction = predict(trace);
  REQUIRE(prediction.refused.empty());
  const EventComparison comparison = compare_events(recorded.recording, prediction.recording, 10);
  INFO(comparison.report);
  CHECK(comparison.differences == 0);
  CHECK(prediction.by_default.peak_reserved == recorded.peak_reserved);
  CHECK(prediction.expandable_segments.peak_reserved == recorded.peak_reserved_expandable);
}

// Below 1 MiB the recordings differ: DTensor's norms for clipping, a buffer of the recorder's own fused norm.
TEST_CASE("recorded steps: under FSDP our event stream is the recorded one in everything above 1 MiB") {
  const auto [stream, id, world] = GENERATE(table<std::string, std::string, std::int64_t>({
      {"llama3.1-8b-fsdp2-full", "titan/llama3.1-8b/world=8/batch=1/seq=8192/checkpointing=full", 8},
      {"tinyllama-fsdp2-selective",
       "titan/tinyllama-1.1b/world=2/batch=2/seq=2048/checkpointing=selective-op/norm=fused", 8},
  }));
  const EventStream recorded = read_event_stream(folder + "events/" + stream + ".json");
  TraceCase trace = find_case("torchtitan.json", id);
  trace.config.recipe.data_parallel_size = world;  // the stream of TinyLlama was recorded on 8 GPUs, its case on 2
  const Prediction prediction = predict(trace);
  REQUIRE(prediction.refused.empty());
  const EventComparison comparison = compare_events(recorded.recording, prediction.recording, 10, (1 << 20) + 1);
  INFO(comparison.report);
  CHECK(comparison.differences == 0);
}

TEST_CASE("recorded steps: every file of the folder is read, and files of another form are named") {
  const CaseFolder read = read_cases(folder);
  CHECK(read.traces.size() > 500);
  CHECK(read.problems.empty());
  const CaseFolder other = read_cases(folder + "partitions/compiled_blocks.json");
  REQUIRE(other.problems.size() == 1);
  CHECK(other.problems[0].find("compiled_blocks.json: is not a list of cases") != std::string::npos);
  CHECK(read_cases(folder + "no-such-file.json").problems.size() == 1);
}

TEST_CASE("recorded steps: a file of one case is read and scored like the others") {
  const std::vector<TraceCase> cases = read_trace_file(folder + "transformers_gpt2.json");
  const TraceCase& trace = cases.front();
  CHECK(trace.steps == 2);
  CHECK(trace.phases.front().name == "init");
  CHECK(trace.phases.size() == 9);
  CHECK(trace.reserved.by_default > trace.reserved.pools.front());
  CHECK(trace.at_peak.count("step 2 backward") == 1);
}

TEST_CASE("recorded steps: the report names every case, its errors and what is not scored") {
  TraceCase trace = find_case("transformers_gpt2.json", "gpt2/bf16/attention=sdpa/checkpointing=none/batch=2/seq=1024");
  const Prediction prediction = predict(trace);
  CaseScore good = score(trace, prediction);
  CHECK(good.worst_phase() == 0);
  trace.phases.back().end *= 2;
  const CaseScore bad = score(trace, prediction);
  CHECK(bad.worst_phase() == Approx(-0.5));
  trace.cannot_translate = "key 'x' is not known";
  const CaseScore none = score(trace, prediction);
  const std::string table = case_table({good, bad, none}, limit);
  CHECK(table.find("-50.000") != std::string::npos);
  CHECK(table.find("not scored: " + trace.id + ": key 'x' is not known") != std::string::npos);
  const Summary summary = summarise({&good, &bad, &none}, &CaseScore::worst_phase, limit);
  CHECK(summary.cases == 2);
  CHECK(summary.not_scored == 1);
  CHECK(summary.beyond == 1);
  CHECK(summary.worst_under == Approx(-0.5));
  trace.reserved = {};
  trace.cannot_translate.clear();
  const CaseScore without_reserved = score(trace, prediction);
  CHECK(case_table({without_reserved}, limit).find("-       -  " + trace.id) != std::string::npos);
  const std::string tables = summary_table({good, without_reserved}, limit);
  const auto cases_of_all = [&tables](std::size_t from) { return tables.substr(tables.find("all  ", from), 34); };
  const std::size_t reserved = tables.find("Reserved bytes");
  CHECK(cases_of_all(0) == "all                              2");
  CHECK(cases_of_all(reserved) == "all                              1");
  const std::string rows = rows_report(trace, prediction);
  CHECK(rows.find("12582912 bytes bfloat16") != std::string::npos);
}
