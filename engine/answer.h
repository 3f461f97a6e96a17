// One request, from its text to its result: read, validate, estimate, check.
#pragma once

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

}  // namespace trainmem
