// The highest moment of a run: what tests of folding, and of what a stage keeps, compare.
#pragma once

#include <algorithm>

#include "engine/tape/fold.h"
#include "engine/training/step.h"

/// The highest total of any phase, initialisation among them.
inline trainmem::Bytes highest_peak(const trainmem::Config& config,
                                    const trainmem::StepOptions& options = {.fold = true}) {
  trainmem::Bytes highest = 0;
  for (const trainmem::FoldedPhase& phase : fold(run_training(config, options)))
    highest = std::max(highest, phase.peak.total);
  return highest;
}
