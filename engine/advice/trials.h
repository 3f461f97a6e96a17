// Configurations that advice tries, each computed once: changes made one after another often come to the same.
#pragma once

#include <optional>
#include <vector>

#include "engine/advice/advice.h"
#include "engine/config.h"
#include "engine/peak/stage_runs.h"

namespace trainmem {

/// Every configuration asked about is valid and modelled.
class Trials {
 public:
  /// Whether the highest peak of all stages, with workspaces (estimate_peak()), is less than so many bytes.
  bool allocates_less(const Config& config, Bytes than);
  /// That peak.
  Bytes allocated(const Config& config);
  Outcome outcome(const Config& config);

 private:
  struct Trial {
    Config config;
    std::optional<Bytes> allocated;
    Bytes at_least = 0;  ///< of what is allocated, from a run that ended before its time
    std::optional<Outcome> outcome;
  };
  /// A step that was run: what is asked first is its peak, and then, if that is low, its outcome.
  struct LatestRun {
    Config config;
    StageRuns stages;
  };

  Trial& trial_of(const Config& config);
  void run(Trial& trial, Bytes enough);
  bool has_run(const Config& config) const;

  std::vector<Trial> trials_;
  std::optional<LatestRun> latest_;
};

}  // namespace trainmem
