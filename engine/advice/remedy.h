// What makes a configuration fit: few changes together, for each kind of price that may be paid.
#pragma once

#include <vector>

#include "engine/advice/advice.h"

namespace trainmem {

class Trials;

/// What advice counts on for each GPU: NVIDIA DGX H100, datasheet, has 2 TB for eight.
constexpr Bytes host_memory_of_a_gpu = 250'000'000'000;

/// Changes with which a configuration that does not fit, or barely, fits. The same training at the same speed where
/// that is possible, else the same training slower; else one remedy each of those that there are: with host memory,
/// with other rounding or another optimizer, with adapters in place of the model, with more GPUs. None can be spared,
/// and none is stronger than it must be. Found step by step, each time by the change that lowers the peak most: another
/// combination may fit where none is found. `singles` are the suggestions for it, cheap ones first.
std::vector<Remedy> find_remedies(const Config& config, const std::vector<Suggestion>& singles, Trials& trials);

}  // namespace trainmem
