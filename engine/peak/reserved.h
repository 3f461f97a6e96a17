// What the caching allocator reserves, on the GPU of all that reserves most.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/config.h"
#include "engine/result.h"
#include "engine/tape/replay.h"
#include "engine/tape/tape.h"

namespace trainmem {

/// The whole step of the stage that `folded` is of.
Recording whole_recording(const Config& config, std::int64_t stage, const Recording& folded);

/// The GPUs of which one reserves most: that of the stage that allocates most, and that of the first or the last stage
/// where it allocates nine tenths of that or more; of each, the ranks that were recorded.
class ReservingGpus {
 public:
  /// `worst`: the whole step of the stage that allocates most; it is referred to.
  ReservingGpus(const Config& config, const std::vector<Stage>& stages, const Recording& worst);

  /// The caching allocator's run on the GPU that it goes worst for, with the workspaces that are not on the tape.
  /// `limit`: what the allocator may take; 0: all.
  Replay replay(Bytes limit = 0) const;

 private:
  const Recording& worst_;
  std::optional<Recording> other_;
  ReplayOptions options_;
};

}  // namespace trainmem
