// Whether a configuration fits: the device memory it needs against what a program can use on the GPU.
#pragma once

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

/// What the runtime gives a program, its context included: the smallest total seen; else nvidia-smi's total less
/// the largest gap seen between the two (882 MiB, A100 80 GB); else the marketed size. 0: nothing is known.
Bytes usable_capacity(const Gpu& gpu);

/// What a run cannot do without: allocated memory and the least that lies outside the allocator. What is reserved
/// beyond that are cached blocks, which the allocator gives back before it reports that memory has run out
/// (c10/cuda/CUDACachingAllocator.cpp: release_cached_blocks).
Bytes least_needed(const Result& result);

/// fits: the whole range of `device` fits. does_not_fit: neither `device.low` nor `least` fits. tight: what lies
/// between. The margin is capacity less expected. `least` is that of least_needed.
Verdict verdict(const Range& device, Bytes least, const Gpu& gpu);

/// What the allocator may take where only cached blocks are too much for the GPU: the capacity less what is expected
/// outside the allocator. 0: something else decides.
Bytes allocator_limit(const Result& result);

/// The verdict of such a case, which says how the allocator gets along within that limit.
Verdict verdict_at_capacity(const Result& result, const AtCapacity& at_capacity, bool expandable_segments);

}  // namespace trainmem
