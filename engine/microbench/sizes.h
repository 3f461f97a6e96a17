// Which array sizes are measured.
//
// A size counts for memory, not for a cache, from four times the last-level cache on (STREAM's rule). Runtimes do not
// name every cache: the 256 MiB of Instinct MI300X are not in its properties. So the default is 1 GiB, or four times
// the cache that is named if that is more.
#pragma once

#include <string>
#include <vector>

#include "engine/microbench/device.h"

namespace trainmem::microbench {

inline constexpr Bytes smallest_default = Bytes{1} << 30;
inline constexpr Bytes smallest_swept = Bytes{256} << 10;
inline constexpr int arrays_held = 3;

/// The default size of one array, rounded up to size_step; less if three of them do not fit into free memory.
Bytes default_size(const DeviceFacts& device);

/// Doubling from 256 KiB to `largest`: caches show as plateaus.
std::vector<Bytes> sweep_sizes(Bytes largest);

/// Why this size cannot be measured on this device; empty: it can.
std::string size_problem(Bytes array_bytes, const DeviceFacts& device);

/// Launches in one sample, so that it lasts some milliseconds and its events do not count; at least one.
int launches_in_sample(double seconds_of_one);

}  // namespace trainmem::microbench
