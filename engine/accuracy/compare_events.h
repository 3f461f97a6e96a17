// Our event stream beside a recorded one: where they part, with the names of our rows.
#pragma once

#include <string>

#include "engine/tape/tape.h"

namespace trainmem {

struct EventComparison {
  int differences = 0;  ///< events of one stream that the other lacks, over all phases
  std::string report;   ///< phase by phase; "-" was recorded and is not ours, "+" is ours and was not recorded
};

/// Compares sizes and order, phase by phase; reports at most `limit` differences with their neighbourhood. The
/// order of frees without an allocation between them makes no difference.
/// Storages smaller than `at_least` are left out.
EventComparison compare_events(const Recording& recorded, const Recording& ours, int limit, Bytes at_least = 1);

}  // namespace trainmem
