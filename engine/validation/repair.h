// From a configuration that gets no number to one that does: the fixes of its issues, one after another.
#pragma once

#include "engine/config.h"

namespace trainmem {

/// Makes the fixes that the issues name, and those of the issues that come up then: each time the one that leaves the
/// fewest issues. False: some issue has none, or they lead nowhere; `config` is then as far as they lead.
bool repair(Config& config);

}  // namespace trainmem
