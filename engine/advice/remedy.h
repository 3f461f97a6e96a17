// What makes a configuration that does not fit fit: one change, two together, or several in a row.
#pragma once

#include <vector>

#include "engine/advice/advice.h"

namespace trainmem {

/// Makes the change: false if it says nothing new, or what comes out is not valid.
bool make(const Change& change, Config& config);

/// On the GPUs there are if that can be, the fewest changes first and then the cheapest; else with more GPUs.
/// `singles` is the best degree of each change, `all` every degree of it.
Remedy find_remedy(const Config& config, const std::vector<Suggestion>& singles, const std::vector<Suggestion>& all);

}  // namespace trainmem
