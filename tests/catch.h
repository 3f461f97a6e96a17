// The one place that knows which Catch2 is installed. Tests include this and nothing of Catch2.
#pragma once

#if defined(__EMSCRIPTEN__)
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#endif

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
