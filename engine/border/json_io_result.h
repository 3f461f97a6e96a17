// Results as JSON. Writing is deterministic: the same result gives the same bytes on every machine.
#pragma once

#include <string>

#include "engine/result.h"

namespace trainmem {

std::string write_result(const Result& result);
std::string write_verdict(const Verdict& verdict);

}  // namespace trainmem
