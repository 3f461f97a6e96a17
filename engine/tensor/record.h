// A run of its own, from its first event to what destruction frees, as a recording.
#pragma once

#include "engine/tensor/run.h"

namespace trainmem {

/// What `training`, called with a new run that is the active one, did to memory.
template <typename Training>
Recording record(Training training) {
  Recording recording;
  {
    Run run(recording);
    const ActivateRun active(run);
    training(run);
  }
  return recording;
}

}  // namespace trainmem
