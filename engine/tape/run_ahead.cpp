#include "engine/tape/run_ahead.h"

#include <limits>

namespace trainmem {
namespace {

/// _limiter_utils.py: _FreeEventQueue._max_num_inflight_all_gathers.
constexpr std::int64_t gathers_in_flight = 2;

StillUsed still_used(const StorageRecord& storage) {
  return storage.made_by == nullptr ? StillUsed::no : storage.made_by->still_used;
}

}  // namespace

void RunAhead::begin(Phase phase) {
  if (phase != Phase::loss && phase != Phase::backward) allocator_.reached(std::numeric_limits<std::int64_t>::max());
}

void RunAhead::before_allocation(const StorageRecord& storage) {
  if (still_used(storage) != StillUsed::by_compute || freed_ - waited_for_ < gathers_in_flight) return;
  allocator_.reached(++waited_for_);
}

void RunAhead::free(CachingAllocator::Handle handle, const StorageRecord& storage) {
  switch (still_used(storage)) {
    case StillUsed::no: return allocator_.free(handle);
    case StillUsed::by_compute: return allocator_.free_after(handle, ++freed_);
    case StillUsed::by_reduction: return allocator_.free_after(handle, freed_ + 1);
  }
}

}  // namespace trainmem
