// Advice and what a configuration takes, as JSON.
#pragma once

#include <string>

#include "engine/advice/advice.h"
#include "engine/border/json_writer.h"

namespace trainmem {

std::string write_advice(const Config& config, const Advice& advice);

void write_outcome(const Outcome& outcome, JsonWriter& out);

}  // namespace trainmem
