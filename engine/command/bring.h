// Files of other programs on the command line: read into links, written from configurations.
#pragma once

#include <string>

#include "engine/command/arguments.h"
#include "engine/command/files.h"
#include "engine/launch/import.h"

namespace trainmem {

/// What the arguments describe. A file of another program becomes a link; --model, --gpu, --recipe and --set go over
/// it.
Input read_configuration(const Arguments& arguments);

/// The configuration that the one in `input` is compared with: that of --against, or A of a link of two. No text: none.
Input read_against(const Arguments& arguments, const Input& input);

/// What of a text was applied and what was not, line by line, and the link.
std::string import_table(const Import& import);

/// "megatron", "torchtitan", "deepspeed" or "accelerate"; null for any other word.
const SettingsFormat* find_format(const std::string& name);

}  // namespace trainmem
