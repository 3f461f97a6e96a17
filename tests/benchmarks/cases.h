// What is timed: the peak with its components, and the full answer, for configurations of three kinds.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace trainmem::benchmarks {

struct Case {
  std::string name;
  /// Computes once and returns bytes, so that nothing is optimised away.
  std::function<double()> work;
};

/// "peak in a sweep": allocated memory with its components for sizes that change from call to call, by a PeakPricer.
/// "peak by a run": the same for a configuration that nothing is known about, by the fold of its run. "result": all of
/// the answer, with rows, timeline, stages, and the allocator's replay. "answer": the same, text in and text out.
std::vector<Case> cases();

}  // namespace trainmem::benchmarks
