// The peak of every configuration of one structure, without running it.
//
// What steers a run (kind of block, kernels, recomputation, sharding, ...) is its structure; the rest are sizes. A
// structure is run once with traced sizes (size/size_trace.h): then every storage of the tape has a polynomial, and
// so has every moment. The few that can be the highest (tape/moments.h) are kept. To price other sizes is to compute
// the polynomials that occur, to check that the run would have gone the same way, and to take the highest moment.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/config.h"
#include "engine/peak/peak.h"
#include "engine/size/size.h"

namespace trainmem {

/// The sizes of a configuration that schedules leave open.
inline constexpr std::size_t open_size_count = 12;
using OpenSizes = std::array<std::int64_t, open_size_count>;
OpenSizes open_sizes(const Config& config);
void set_open_sizes(Config& config, const OpenSizes& sizes);

class Schedule {
 public:
  /// Runs one pipeline stage of a configuration. Sizes of 0 and 1 are not left open.
  Schedule(const Config& config, std::int64_t stage);

  /// The peak of the stage for other sizes, without workspaces beside the tape. False if the run would have gone
  /// another way; `peak` is then left as it is.
  bool price(const OpenSizes& sizes, Peak& peak) const;

  std::size_t moments() const { return moments_.size(); }
  std::size_t guards() const { return checks_.size(); }

 private:
  friend class ScheduleBuilder;

  /// Begin and end in `terms_`.
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  /// A multiple of the value of a line.
  struct LineTerm {
    std::int64_t coefficient;
    std::uint32_t line;
  };
  /// Computes a value: a size, an operation on two earlier lines, or (add) the sum of terms from left to right.
  struct Line {
    SizeOperation operation = SizeOperation::input;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
  };
  struct Check {
    Range value;
    Signs signs = 0;
  };
  struct KeptMoment {
    Range change;  ///< since the moment before
    ByComponent<Range> components;
    Phase phase = Phase::initialise;
  };

  static constexpr std::size_t most_lines = 512;  ///< a schedule with more of them prices nothing

  std::int64_t sum(Range range, const std::array<std::int64_t, most_lines>& values) const;
  bool evaluate(const OpenSizes& sizes, std::array<std::int64_t, most_lines>& values) const;

  OpenSizes traced_{};
  std::array<bool, open_size_count> open_{};
  std::vector<Line> lines_{{}};  ///< line 0 is the number one
  std::vector<LineTerm> terms_;
  std::vector<Check> checks_;
  std::vector<KeptMoment> moments_;
};

}  // namespace trainmem
