// What programs for fine-tuning on top of transformers say in the same words: each of these takes one key, or those
// that belong to it, and notes what it did. A key that is absent changes nothing.
#pragma once

#include <initializer_list>

#include "engine/launch/format.h"

namespace trainmem {

/// What transformers' Trainer does unless it is told otherwise.
Config trainer_defaults();

void take_model(SettingsReading& reading, const char* key);      ///< a name on the hub, or a path
void take_optimizer(SettingsReading& reading, const char* key);  ///< transformers' OptimizerNames
/// A path to DeepSpeed's file, whose name says the ZeRO stage as those of the projects' examples do.
void take_deepspeed(SettingsReading& reading, const char* key);
void take_fsdp(SettingsReading& reading, const char* key);  ///< "full_shard auto_wrap", or a switch

/// Names of modules that get adapters, in a list of any form; "all" and "all-linear" are all projections.
void take_lora_targets(SettingsReading& reading, const char* key);
/// Whether sequences are laid end to end; where they are not, more than one of them are padded.
void take_packing(SettingsReading& reading, const char* key);
/// Sequences of pairs, and completions, differ in length. `key`: of the objective.
void take_padding_of_objective(SettingsReading& reading, const char* key);
/// bf16 and fp16, once data parallelism and the format of the weights are known.
void take_precision(SettingsReading& reading);
/// The number of GPUs, of torchrun, accelerate launch or the deepspeed launcher.
void take_launcher(SettingsReading& reading);

bool has_any(const Settings& settings, std::initializer_list<const char*> keys);
/// Are these settings of transformers' Trainer, LLaMA-Factory's, or ms-swift's?
bool is_trainer(const Settings& settings);
bool is_llamafactory(const Settings& settings);
bool is_ms_swift(const Settings& settings);
/// "sft", "pt" or "rlhf" of a command line of ms-swift; empty: the text is none.
std::string_view ms_swift_command(std::string_view text);

/// The Trainer's arguments under another name, from a text of another kind.
SettingsFormat like_trainer(const char* name, const char* title, const char* file, Settings (*read)(std::string_view));
/// Does the text call what python_format() reads?
bool is_python(std::string_view text);

/// Is it there, and anything but a word for no?
bool is_set(const SettingsReading& reading, const char* key);

}  // namespace trainmem
