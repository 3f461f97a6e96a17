// What one step must move through GPU memory, and its arithmetic, phase by phase, read from a folded tape.
//
// Traffic is the least that the step as written needs. Counted: what outlives its phase (kept for backward), or is
// larger than any GPU's last-level cache, is written once and read once; every product reads its weight; copies of
// weights (autocast, gathered shards) are written once; gradients are written once, and read and written where they
// are added to. Left out: smaller temporaries of pointwise operations, which fusion and caches may absorb, and
// collectives. What the optimizer moves stands in optimizer/traffic.h.
#pragma once

#include <array>

#include "engine/result.h"
#include "engine/tape/tape.h"

namespace trainmem {

/// Bytes by component; exact below 2^53.
using Traffic = ByComponent<double>;

/// A tensor beyond this cannot have stayed in a cache: Instinct MI300X has 256 MiB of Infinity Cache, the most of any
/// GPU in presets/gpus (AMD CDNA 3 white paper; NVIDIA's largest is the B200 with 126 MB of L2).
inline constexpr Bytes largest_cache = Bytes{256} << 20;

struct PhaseTraffic {
  Traffic bytes{};
  double operations = 0;  ///< floating-point operations of matrix products and attention
  double recomputed = 0;  ///< of them, those that compute again what forward computed before
};

/// The last step of a recording, folded or not, by phase. The optimizer's phase is left empty.
std::array<PhaseTraffic, phase_count> traffic_of_last_step(const Recording& tape);

double sum(const Traffic& traffic);

}  // namespace trainmem
