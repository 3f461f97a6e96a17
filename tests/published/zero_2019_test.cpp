// Rajbhandari et al. 2019, ZeRO: Memory Optimizations Toward Training Trillion Parameter Models
// (arXiv:1910.02054), figure 1 and table 1. 1 GB = 1e9 bytes; K = 12.
#include "engine/textbook.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

double gb(int stage, double billions, std::int64_t d) {
  return static_cast<double>(zero_state_bytes(stage, static_cast<std::int64_t>(billions * 1e9), d)) / 1e9;
}

}  // namespace

TEST_CASE("ZeRO 2019, figure 1: 120, 31.4, 16.6 and 1.9 GB for 7.5 B parameters on 64 GPUs") {
  CHECK(gb(0, 7.5, 64) == 120);
  CHECK(gb(1, 7.5, 64) == Approx(31.4).margin(0.05));
  CHECK(gb(2, 7.5, 64) == Approx(16.6).margin(0.05));
  CHECK(gb(3, 7.5, 64) == Approx(1.9).margin(0.05));
}

TEST_CASE("ZeRO 2019, table 1: model states by data-parallel degree") {
  struct Line {
    double billions;
    std::int64_t d;
    double states, gradients, parameters;  // GB as printed, stages 1, 2 and 3
  };
  // The table cuts numbers off or rounds them at the last digit it prints.
  const Line line =
      GENERATE(Line{7.5, 1, 120, 120, 120}, Line{7.5, 4, 52.5, 41.3, 30}, Line{7.5, 16, 35.6, 21.6, 7.5},
               Line{7.5, 64, 31.4, 16.6, 1.88}, Line{7.5, 256, 30.4, 15.4, 0.47}, Line{7.5, 1024, 30.1, 15.1, 0.12},
               Line{128, 1, 2048, 2048, 2048}, Line{128, 4, 896, 704, 512}, Line{128, 16, 608, 368, 128},
               Line{128, 64, 536, 284, 32}, Line{128, 256, 518, 263, 8}, Line{128, 1024, 513, 257, 2},
               Line{1000, 1, 16000, 16000, 16000}, Line{1000, 4, 7000, 5500, 4000}, Line{1000, 16, 4750, 2875, 1000},
               Line{1000, 64, 4187, 2218, 250}, Line{1000, 256, 4046, 2054, 62.5}, Line{1000, 1024, 4011, 2013, 15.6});
  CAPTURE(line.billions, line.d);
  const auto printed = [](double value) { return Approx(value).margin(value > 100 ? 1.0 : 0.06); };
  CHECK(gb(1, line.billions, line.d) == printed(line.states));
  CHECK(gb(2, line.billions, line.d) == printed(line.gradients));
  CHECK(gb(3, line.billions, line.d) == Approx(line.parameters).epsilon(0.025));
}
