// The unit tests' main: Catch2's own.
#define CATCH_CONFIG_MAIN
#include "tests/catch.h"
