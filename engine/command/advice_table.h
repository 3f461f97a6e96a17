// Advice and plans as text: three sentences, one line for each change, one line for each layout.
#pragma once

#include <string>

#include "engine/advice/advice.h"
#include "engine/advice/plan.h"

namespace trainmem {

/// Three questions about the peak, answered.
std::string diagnosis_lines(const std::vector<Diagnosis>& diagnoses);

/// What would make it fit, then every change with what it saves and costs.
std::string advice_table(const Advice& advice, const Verdict& before);

/// The layouts that fit, best first.
std::string plan_table(const Plan& plan, std::int64_t num_gpus);

}  // namespace trainmem
