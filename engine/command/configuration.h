// The configurations that a command line names.
#pragma once

#include "engine/command/arguments.h"
#include "engine/command/files.h"

namespace trainmem {

/// What the arguments describe. A file of another program becomes a link; --model, --gpu, --recipe and --set go over
/// it.
Input read_configuration(const Arguments& arguments);

/// The configuration that the one in `input` is compared with: that of --against, or A of a link of two. No text: none.
Input read_against(const Arguments& arguments, const Input& input);

}  // namespace trainmem
