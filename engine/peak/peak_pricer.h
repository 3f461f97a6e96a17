// Peaks of very many configurations, for programs that search among them. The plans and advice of this project ask for
// a few hundred, and run each (peak.h).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/config.h"
#include "engine/peak/peak.h"
#include "engine/peak/schedule.h"

namespace trainmem {

/// Answers as estimate_peak() does, and keeps what it learns: a schedule for every structure that it meets. The first
/// configuration of a structure takes a few milliseconds, others of the same structure about a microsecond.
/// Not to be shared between threads.
///
///     PeakPricer pricer;
///     for (config.recipe.micro_batch_size = 1; ...) pricer.peak(config).allocated;
class PeakPricer {
 public:
  /// The configuration is valid and modelled.
  Peak peak(const Config& config);
  /// One pipeline stage of it, without workspaces beside the tape.
  Peak stage(const Config& config, std::int64_t index);

  /// Schedules kept.
  std::size_t schedules() const;

 private:
  struct StageSchedules {
    std::int64_t index = 0;
    std::vector<Schedule> schedules;
  };
  struct Structure {
    Config config;        ///< its open sizes mean nothing
    Bytes workspace = 0;  ///< beside the tape
    std::vector<StageSchedules> stages;
  };

  Structure& structure_of(const Config& config, const OpenSizes& sizes);
  static Peak price(Structure& structure, const Config& config, const OpenSizes& sizes, std::int64_t stage);

  std::vector<Structure> structures_;  ///< the one used last comes first
};

}  // namespace trainmem
