// A phase of a training run that is folded.
#pragma once

#include "engine/tape/fold.h"
#include "engine/training/step.h"

/// The last phase of this kind in the last step.
inline trainmem::FoldedPhase last(const trainmem::Config& config, trainmem::Phase phase) {
  trainmem::FoldedPhase found;
  for (const trainmem::FoldedPhase& one : trainmem::fold(trainmem::run_training(config, {.steps = 2, .fold = true})))
    if (one.phase == phase) found = one;
  return found;
}
