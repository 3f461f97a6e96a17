// The command line as data.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/issue.h"

namespace trainmem {

enum class Command { none, estimate, plan, link, import, export_settings, presets, validate_presets };

struct Arguments {
  Command command = Command::none;
  std::vector<std::string> words;  ///< what stands after the command, without options
  bool json = false;
  bool advice = false;
  int num_gpus = 0;  ///< of a plan; 0: not given
  bool help = false;
  bool version = false;
  std::vector<std::pair<std::string, std::string>> parts;  ///< of --model, --gpu, --recipe, --set: link keys and values
  std::string format;                                      ///< of --format
  std::string against;                                     ///< of --against: a file or link
  Issues issues;                                           ///< everything that is wrong with the words
};

/// `words`: without the program's name.
Arguments parse_arguments(const std::vector<std::string>& words);

}  // namespace trainmem
