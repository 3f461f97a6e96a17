#include "engine/border/answer.h"

#include "engine/border/json_io_advice.h"
#include "engine/border/json_io_result.h"
#include "engine/codec/json_config.h"
#include "engine/codec/link.h"
#include "engine/codec/request.h"
#include "engine/estimate.h"
#include "engine/text/json_writer.h"
#include "engine/text/numbers.h"
#include "engine/validation/repair.h"
#include "engine/validation/validate.h"
#include "engine/verdict.h"

namespace trainmem {

namespace {

/// What was already reported at a place is not reported again there; nor are the sizes of a model that is not known.
void add_new(const Issues& more, bool model_known, Issues& issues) {
  const std::size_t known = issues.size();
  for (const Issue& issue : more) {
    bool reported = !model_known && issue.path.substr(0, 7) == "/model/";
    for (std::size_t i = 0; i < known; ++i) reported = reported || issues[i].path == issue.path;
    if (!reported) issues.push_back(issue);
  }
}

bool too_large(const Result& result) {
  const auto beyond = [](Bytes bytes) { return bytes < 0 || bytes > exact_limit; };
  bool any = beyond(result.allocated) || beyond(result.reserved.high) || beyond(result.device.high);
  for (const Row& row : result.rows) any = any || beyond(row.bytes);
  for (const Stage& stage : result.stages) any = any || beyond(stage.allocated);
  for (const PhasePeak& phase : result.phases) any = any || beyond(phase.peak);
  return any;
}

}  // namespace

Answer read_request(std::string_view text) {
  ReadConfig read = read_request_text(text);
  Answer answer{read.config, {}, std::move(read.issues)};
  if (!read.readable) return answer;
  answer.understood = answer.issues.empty();
  add_new(validate(answer.config), read.model_known, answer.issues);
  return answer;
}

Answer answer_request(std::string_view text) {
  Answer answer = read_request(text);
  if (!answer.issues.empty()) return answer;
  answer.result = estimate(answer.config);
  if (too_large(answer.result)) {
    answer.issues.push_back({"too_large", "", "The total is beyond 2^53 bytes, eight pebibytes in one GPU.",
                             "Give smaller sizes, or divide the model over more GPUs."});
  }
  return answer;
}

PlanAnswer plan_request(std::string_view text, std::int64_t num_gpus) {
  Answer read = read_request(text);
  PlanAnswer answer{std::move(read.config), num_gpus, {}, std::move(read.issues)};
  if (num_gpus < 1 || num_gpus > most_planned_gpus) {
    answer.issues.push_back({"out_of_range", "/num_gpus", "A plan cannot be for " + std::to_string(num_gpus) + " GPUs.",
                             "Give a whole number from 1 to " + std::to_string(most_planned_gpus) + "."});
  }
  if (answer.issues.empty() && usable_capacity(answer.config.gpu) <= 0) {
    answer.issues.push_back(
        {"missing", "/gpu", "No GPU is given, so nothing can be said to fit.", "Name one, such as \"h100-sxm\"."});
  }
  if (answer.issues.empty()) answer.plan = plan(answer.config, num_gpus);
  return answer;
}

std::string write_answer(const PlanAnswer& answer) {
  if (!answer.issues.empty()) return write_refusal(answer.issues);
  JsonWriter out;
  out.open_object();
  out.key("ok").boolean(true);
  out.key("plan").raw(write_plan(answer.config, answer.num_gpus, answer.plan));
  out.close_object();
  return out.take();
}

bool repaired(const Answer& answer, Config& config) {
  config = answer.config;
  return answer.understood && repair(config);
}

std::string write_answer(const Answer& answer) {
  JsonWriter out;
  if (!answer.issues.empty() && answer.understood) {
    out.open_object();
    out.key("ok").boolean(false);
    out.key("issues").raw(write_issues(answer.issues));
    out.key("config").raw(write_config(answer.config));
    Config better;
    if (repaired(answer, better)) {
      out.key("repair").open_object();
      write_sets(answer.config, better, out);
      out.key("config").raw(write_config_differences(better));
      out.key("link").text(format_link(better));
      out.close_object();
    }
    out.close_object();
    return out.take();
  }
  if (!answer.issues.empty()) return write_refusal(answer.issues);
  out.open_object();
  out.key("ok").boolean(true);
  out.key("result").raw(write_result(answer.result));
  out.key("config").raw(write_config(answer.config));
  out.key("link").text(format_link(answer.config));
  out.close_object();
  return out.take();
}

std::string write_refusal(const Issues& issues) {
  JsonWriter out;
  out.open_object();
  out.key("ok").boolean(false);
  out.key("issues").raw(write_issues(issues));
  out.close_object();
  return out.take();
}

}  // namespace trainmem
