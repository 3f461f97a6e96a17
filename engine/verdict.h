// Whether a configuration fits: the device memory it needs against what a program can use on the GPU.
#pragma once

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

/// What the runtime gives a program, its context included: the smallest total seen; else nvidia-smi's total less
/// the largest gap seen between the two (882 MiB, A100 80 GB); else the marketed size. 0: nothing is known.
Bytes usable_capacity(const Gpu& gpu);

/// fits: the whole range of `device` fits. tight: capacity lies within the range. The margin is capacity less
/// expected.
Verdict verdict(const Range& device, const Gpu& gpu);

}  // namespace trainmem
