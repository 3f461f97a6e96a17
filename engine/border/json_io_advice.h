// Advice and what a configuration takes, as JSON.
#pragma once

#include <string>

#include "engine/advice/advice.h"
#include "engine/advice/plan.h"
#include "engine/text/json_writer.h"

namespace trainmem {

std::string write_advice(const Config& config, const Advice& advice);
std::string write_plan(const Config& config, std::int64_t num_gpus, const Plan& plan);

/// What one configuration sets otherwise than another, as the key "sets": [{"path", "from", "to"}].
void write_sets(const Config& before, const Config& after, JsonWriter& out);

void write_outcome(const Outcome& outcome, JsonWriter& out);

}  // namespace trainmem
