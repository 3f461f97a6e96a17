// The same cases without Google Benchmark, so that they also run as WebAssembly: one line a case, its name and how
// many a second, the best of five runs of a fifth of a second: other programs only ever make it slower.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "tests/benchmarks/cases.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double per_second(const trainmem::benchmarks::Case& each) {
  std::array<double, 5> rates{};
  volatile double sink = each.work();
  for (double& rate : rates) {
    long count = 0;
    const Clock::time_point start = Clock::now();
    double elapsed = 0;
    for (long batch = 1; elapsed < 0.2; batch *= 2) {
      for (long i = 0; i < batch; ++i) sink = each.work();
      count += batch;
      elapsed = seconds_since(start);
    }
    rate = static_cast<double>(count) / elapsed;
  }
  (void)sink;
  return *std::max_element(rates.begin(), rates.end());
}

}  // namespace

int main() {
  for (const trainmem::benchmarks::Case& each : trainmem::benchmarks::cases())
    std::printf("%s\t%.1f\n", each.name.c_str(), per_second(each));
}
