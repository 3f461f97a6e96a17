// The unit tests' main: Catch2's own.
#define CATCH_CONFIG_MAIN
#include "tests/catch.h"
#include "tests/source_folder.h"

std::string source_folder() { return TRAINMEM_SOURCE_DIR; }
