// One request, from its text to its result: read, validate, estimate, check.
#pragma once

#include <string>
#include <string_view>

#include "engine/config.h"
#include "engine/issue.h"
#include "engine/result.h"

namespace trainmem {

struct Answer {
  Config config;
  Result result;  ///< counts only if there are no issues
  Issues issues;
};

/// The text is JSON if it begins with a brace, else a link.
Answer answer_request(std::string_view text);

/// {"ok":true,"result":{...},"config":{...},"link":"..."} or {"ok":false,"issues":[...]}.
std::string write_answer(const Answer& answer);
std::string write_refusal(const Issues& issues);

}  // namespace trainmem
