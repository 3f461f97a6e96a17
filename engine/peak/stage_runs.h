// Every pipeline stage's own peak. Without a pipeline there is one stage.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/config.h"
#include "engine/result.h"
#include "engine/tape/tape.h"
#include "engine/training/step_options.h"

namespace trainmem {

/// The stages, the worst one marked, and the folded tape of the highest of them that were run.
struct StageRuns {
  std::vector<Stage> stages;
  Recording folded;
  std::int64_t folded_stage = -1;
  Bytes folded_peak = 0;
};

/// Runs the stages; of many that lie on a line (equal layers, one micro-batch fewer each), those at its ends.
/// Without a pipeline, a run that has reached `enough` bytes, workspaces among them, may end there: then this is what
/// it has `allocated`, which the whole run may exceed.
StageRuns run_stages(const Config& config, Bytes enough = no_limit);

}  // namespace trainmem
