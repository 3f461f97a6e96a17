// What TRL's own trainers are told beside the Trainer's arguments.
#pragma once

#include <string_view>

#include "engine/launch/format.h"

namespace trainmem {

struct TrlTrainer {
  const char* key;      ///< what the settings say that it is: "grpo"
  const char* script;   ///< file of its script
  const char* command;  ///< of the same on a command line: "trl grpo"
  const char* call;     ///< of its arguments in Python: "GRPOConfig"
  const char* objective;
};

/// TRL's trainer of these settings; null: none of them.
const TrlTrainer* trl_trainer(const SettingsReading& reading);
/// The one whose script a command line runs; null: none of them.
const TrlTrainer* trl_script(std::string_view text);
/// The one whose arguments a Python call makes; null: none of them.
const TrlTrainer* trl_call(std::string_view name);

/// Objective, completions and reference, and the trainers' own defaults of lengths.
void take_objective(SettingsReading& reading, const TrlTrainer& trainer);
/// How far a policy is held near its reference; without that there is none.
void take_beta(SettingsReading& reading, const char* key);

}  // namespace trainmem
