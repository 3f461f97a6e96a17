// Google Benchmark over the cases: how long each takes, and how many a second.
#include <benchmark/benchmark.h>

#include "tests/benchmarks/cases.h"

int main(int argc, char** argv) {
  for (const trainmem::benchmarks::Case& each : trainmem::benchmarks::cases()) {
    benchmark::RegisterBenchmark(each.name.c_str(), [work = each.work](benchmark::State& state) {
      for (auto _ : state) {
        double bytes = work();
        benchmark::DoNotOptimize(bytes);
      }
      state.SetItemsProcessed(state.iterations());
    })->Unit(benchmark::kMicrosecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
