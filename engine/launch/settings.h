// Settings files of training frameworks as flat lists of keys and values, whatever their syntax.
//
//   DeepSpeed   JSON        {"zero_optimization": {"stage": 3}}       zero_optimization.stage = 3
//   torchtitan  TOML        [parallelism] tensor_parallel_degree = 8  parallelism.tensor_parallel_degree = 8
//   accelerate  YAML        fsdp_config: fsdp_version: 2              fsdp_config.fsdp_version = 2
//   Megatron    arguments   --seq-length 4096 --bf16                  --seq-length = 4096, --bf16 =
//   Trainer     arguments   --bf16 --max_length 4096                  bf16 = true, max_length = 4096
//   ms-swift    arguments, as the Trainer's
//   axolotl, LLaMA-Factory, torchtune  YAML, as accelerate's
//
// Lists stand as their text, "[2, 4]". These are readers of what such files hold, not of all that TOML and YAML allow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/json_tree.h"

namespace trainmem {

struct Setting {
  std::string key;
  std::string value;    ///< without quotes; a flag of a command line has none
  bool unread = false;  ///< the text computes it: `value` is the expression
};
using Settings = std::vector<Setting>;

Settings read_json_settings(const JsonTree& object);
Settings read_toml(std::string_view text);
Settings read_yaml(std::string_view text);  ///< block mappings, and lists of scalars
/// Options with their values; "-" within a name stands for "_" too. What is no option is left out, but the variable of
/// PyTorch's allocator.
Settings read_arguments(std::string_view text);

/// Those of a program that reads its options by dataclass, as those of transformers: names without dashes in front and
/// with "_", a flag is "true".
Settings read_dataclass_arguments(std::string_view text);

std::string write_json_settings(const Settings& settings);
std::string write_toml(const Settings& settings);
std::string write_yaml(const Settings& settings);
std::string write_arguments(const Settings& settings);  ///< one option a line, joined by backslashes

std::string lower_case(std::string_view text);
std::string_view trimmed(std::string_view text);

}  // namespace trainmem
