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

/// "peak": allocated memory with its components. "answer": text in, text out, with rows, timeline, stages and
/// reserved memory. "reserved": the same without the border.
std::vector<Case> cases();

}  // namespace trainmem::benchmarks
