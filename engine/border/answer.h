// One request, from its text to its result: read, validate, estimate, check.
#pragma once

#include <string>
#include <string_view>

#include "engine/advice/plan.h"
#include "engine/config.h"
#include "engine/issue.h"
#include "engine/result.h"

namespace trainmem {

struct Answer {
  Config config;
  Result result;  ///< counts only if there are no issues
  Issues issues;
  bool understood = false;  ///< all of the request could be read: the issues are of what it says
};

/// What answers in place of an answer that has issues: the configuration with their fixes, and with those of the issues
/// that come up then. False: they do not lead to one that gets numbers.
bool repaired(const Answer& answer, Config& config);

/// The configuration alone, read (request.h) and validated.
Answer read_request(std::string_view text);

/// The whole answer.
Answer answer_request(std::string_view text);

struct PlanAnswer {
  Config config;
  std::int64_t num_gpus = 0;
  Plan plan;  ///< counts only if there are no issues
  Issues issues;
};

PlanAnswer plan_request(std::string_view text, std::int64_t num_gpus);

/// {"ok":true,"plan":{...}} or a refusal.
std::string write_answer(const PlanAnswer& answer);

/// {"ok":true,"result":{...},"config":{...},"link":"..."} or {"ok":false,"issues":[...]}, with "config" if all could be
/// read, and "repair" if there is one.
std::string write_answer(const Answer& answer);
std::string write_refusal(const Issues& issues);

}  // namespace trainmem
