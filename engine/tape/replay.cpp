#include "engine/tape/replay.h"

#include <tuple>
#include <vector>

#include "engine/tape/rule.h"
#include "engine/tape/run_ahead.h"

namespace trainmem {
namespace {

/// Finds the first product of forward and of backward, the two threads that multiply.
class FirstProducts {
 public:
  void begin(Phase phase) { backward_ = phase == Phase::backward; }

  /// Whether a storage is the result of one.
  bool at(const StorageRecord& storage) {
    bool& found = backward_ ? in_backward_ : in_forward_;
    if (found) return false;
    return found = storage.made_by != nullptr && storage.made_by->takes_handle;
  }

 private:
  bool backward_ = false;
  bool in_forward_ = false;
  bool in_backward_ = false;
};

/// Calls `take` with every event of one of the recording's ranks, and with where the first rank is then.
template <class Take>
void for_each_event(const Recording& recording, std::size_t rank, Take take) {
  std::size_t next = 0;
  if (rank > 0) {
    for (const DividedStretch& stretch : recording.divided) {
      for (; next < stretch.first_event; ++next) take(recording.events[next], next);
      for (const Event event : stretch.of_others[rank - 1]) take(event, next);
      next = stretch.end_event;
    }
  }
  for (; next < recording.events.size(); ++next) take(recording.events[next], next);
}

/// The first event of the recording's last step.
std::size_t last_step(const Recording& recording) {
  std::size_t first = 0;
  for (std::size_t i = 1; i < recording.phases.size(); ++i)
    if (recording.phases[i].step != recording.phases[i - 1].step) first = recording.phases[i].first_event;
  return first;
}

}  // namespace

bool is_worse(const Replay& one, const Replay& other) {
  const auto standing = [](const Replay& replay) {
    const AtCapacity& at_limit = replay.at_limit;
    return std::tuple(at_limit.requested > 0, at_limit.retries_of_last_step, at_limit.retries, at_limit.reserved);
  };
  return standing(other) < standing(one);
}

Replay replay(const Recording& recording, const ReplayOptions& options) {
  CachingAllocator allocator(options.allocator);
  std::vector<CachingAllocator::Handle> handles(recording.storages.size(), CachingAllocator::no_block);
  FirstProducts first_products;
  RunAhead run_ahead(allocator);
  std::size_t next_phase = 0;
  Replay result;
  const std::size_t begin_of_last = last_step(recording);
  std::int64_t retries_before = 0;
  const auto allocate = [&](Bytes bytes, Stream stream) {
    const CachingAllocator::Handle handle = allocator.allocate(bytes, stream);
    if (handle == CachingAllocator::no_block && bytes > 0) {
      result.at_limit.requested = bytes;
      result.at_limit.allocated = allocator.blocks().current;
    }
    return handle;
  };
  for_each_event(recording, options.rank, [&](Event event, std::size_t position) {
    if (result.at_limit.requested > 0) return;
    for (; next_phase < recording.phases.size() && recording.phases[next_phase].first_event <= position; ++next_phase) {
      first_products.begin(recording.phases[next_phase].phase);
      run_ahead.begin(recording.phases[next_phase].phase);
    }
    const StorageRecord& storage = recording.storage_of(event);
    CachingAllocator::Handle& handle = handles[storage_index(event)];
    if (allocates(event)) {
      if (options.runs_ahead) run_ahead.before_allocation(storage);
      handle = allocate(storage.bytes, storage.stream);
      if (options.handle_workspace > 0 && first_products.at(storage))
        allocate(options.handle_workspace, Stream::compute);
    } else if (options.runs_ahead) {
      run_ahead.free(handle, storage);
    } else {
      allocator.free(handle);
    }
    if (position < begin_of_last) retries_before = allocator.retries();
  });
  result.peak_allocated = allocator.requested().peak;
  result.peak_blocks = allocator.blocks().peak;
  result.peak_reserved = allocator.reserved().peak;
  result.at_limit.limit = options.allocator.limit;
  result.at_limit.reserved = result.peak_reserved;
  result.at_limit.retries = allocator.retries();
  result.at_limit.retries_of_last_step = allocator.retries() - retries_before;
  for (int index = 0; index < stream_count; ++index) {
    const auto stream = static_cast<Stream>(index);
    result.pools[static_cast<std::size_t>(index)] = allocator.requested(stream).peak;
    result.reserved[static_cast<std::size_t>(index)] = allocator.reserved(stream);
  }
  return result;
}

Replay worst_replay(const Recording& recording, ReplayOptions options) {
  const std::size_t others = recording.divided.empty() ? 0 : recording.divided.front().of_others.size();
  Replay worst;
  for (options.rank = 0; options.rank <= others; ++options.rank) {
    const Replay one = replay(recording, options);
    if (is_worse(one, worst)) worst = one;
  }
  return worst;
}

}  // namespace trainmem
