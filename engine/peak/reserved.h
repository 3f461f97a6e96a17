// What the caching allocator reserves, on the GPU of all that reserves most.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/config.h"
#include "engine/result.h"
#include "engine/tape/replay.h"
#include "engine/tape/tape.h"

namespace trainmem {

/// The whole step of the stage that `folded` is of.
Recording whole_recording(const Config& config, std::int64_t stage, const Recording& folded);

/// The caching allocator's run on the GPU that it goes worst for, with the workspaces that are not on the tape.
/// `worst`: the whole step of the stage that allocates most. The first or the last stage is looked at beside it if it
/// allocates nine tenths of that or more; of each, the ranks that were recorded. `limit`: what the allocator may take;
/// 0: all.
Replay replay_on_any(const Config& config, const std::vector<Stage>& stages, const Recording& worst, Bytes limit = 0);

}  // namespace trainmem
