// The caching allocator on sizes.
#include "engine/tape/allocator.h"

#include <algorithm>

#include "engine/tensor/tensor.h"

namespace trainmem {
namespace {

constexpr Bytes mebibyte = 1 << 20;
constexpr Bytes min_block = 512;                 // kMinBlockSize
constexpr Bytes small_size = mebibyte;           // kSmallSize: the largest small request
constexpr Bytes small_segment = 2 * mebibyte;    // kSmallBuffer
constexpr Bytes large_segment = 20 * mebibyte;   // kLargeBuffer
constexpr Bytes min_large = 10 * mebibyte;       // kMinLargeAlloc: from here on a request has its own segment
constexpr Bytes round_large = 2 * mebibyte;      // kRoundLarge
constexpr Bytes address_space = Bytes{1} << 58;  // of one growing segment

constexpr Bytes round_up(Bytes bytes, Bytes unit) { return (bytes + unit - 1) / unit * unit; }

constexpr Bytes segment_size(Bytes size) {
  if (size <= small_size) return small_segment;
  if (size < min_large) return large_segment;
  return round_up(size, round_large);
}

void add(Counter& counter, Bytes bytes) {
  counter.current += bytes;
  counter.peak = std::max(counter.peak, counter.current);
}

}  // namespace

CachingAllocator::CachingAllocator(AllocatorOptions options) : options_(options) {
  for (std::size_t index = 0; index < pools_.size(); ++index) {
    pools_[index].mapped_end = address_space * static_cast<Bytes>(index);
  }
}

Bytes CachingAllocator::reserved(Stream stream) const {
  const auto small = 2 * static_cast<std::size_t>(stream);
  return pools_[small].reserved + pools_[small + 1].reserved;
}

CachingAllocator::Handle CachingAllocator::allocate(Bytes bytes, Stream stream) {
  if (bytes <= 0) return no_block;
  const Bytes size = round_up(bytes, min_block);
  const std::int32_t from = 2 * static_cast<std::int32_t>(stream) + (size <= small_size ? 0 : 1);

  // Best fit. The last block of a growing segment counts as large as the segment can become, so any other block that
  // fits goes first (get_free_block, expandable_size).
  std::int32_t index = pool(from).free_blocks.take(size, pool(from).last);
  if (index == no_block) index = options_.expandable_segments ? grow_segment(from, size) : new_segment(from, size);

  const Bytes rest = block(index).size - size;
  const bool splits_closely = is_small(from) || options_.expandable_segments;
  if (splits_closely ? rest >= min_block : rest > small_size) split(index, size);

  Block& taken = block(index);
  taken.is_free = false;
  taken.requested = size;
  add(requested_, size);
  add(stream_requested_[static_cast<std::size_t>(stream)], size);
  add(blocks_in_use_, taken.size);
  return index;
}

void CachingAllocator::free(Handle handle) {
  if (handle == no_block) return;
  std::int32_t index = handle;
  const Block& freed = block(index);
  requested_.current -= freed.requested;
  stream_requested_[static_cast<std::size_t>(freed.pool / 2)].current -= freed.requested;
  blocks_in_use_.current -= freed.size;

  const std::int32_t next = freed.next;
  const std::int32_t previous = freed.previous;
  if (next != no_block && block(next).is_free) {
    erase_free(next);
    absorb_next(index);
  }
  if (previous != no_block && block(previous).is_free) {
    erase_free(previous);
    absorb_next(previous);
    index = previous;
  }
  insert_free(index);
}

std::int32_t CachingAllocator::new_segment(std::int32_t pool_index, Bytes size) {
  const Bytes bytes = segment_size(size);
  const std::int32_t index = new_block({next_address_, bytes, 0, no_block, no_block, pool_index, false});
  next_address_ += bytes;
  pool(pool_index).reserved += bytes;
  reserved_ += bytes;
  return index;
}

// Maps as many units as the request needs beyond the free block at the segment's end.
std::int32_t CachingAllocator::grow_segment(std::int32_t pool_index, Bytes size) {
  Pool& growing = pool(pool_index);
  if (growing.last != no_block && block(growing.last).is_free) {
    erase_free(growing.last);
  } else {
    const std::int32_t added = new_block({growing.mapped_end, 0, 0, growing.last, no_block, pool_index, false});
    if (growing.last != no_block) block(growing.last).next = added;
    growing.last = added;
  }
  Block& end = block(growing.last);
  const Bytes bytes = round_up(size - end.size, is_small(pool_index) ? small_segment : large_segment);
  end.size += bytes;
  growing.mapped_end += bytes;
  growing.reserved += bytes;
  reserved_ += bytes;
  return growing.last;
}

// Cuts a block down to `size`; the rest becomes a free block after it.
void CachingAllocator::split(std::int32_t index, Bytes size) {
  const Block whole = block(index);
  const std::int32_t rest =
      new_block({whole.address + size, whole.size - size, 0, index, whole.next, whole.pool, false});
  if (whole.next != no_block) block(whole.next).previous = rest;
  block(index).next = rest;
  block(index).size = size;
  if (pool(whole.pool).last == index) pool(whole.pool).last = rest;
  insert_free(rest);
}

void CachingAllocator::absorb_next(std::int32_t index) {
  Block& left = block(index);
  const std::int32_t next = left.next;
  const Block& right = block(next);
  left.size += right.size;
  left.next = right.next;
  if (right.next != no_block) block(right.next).previous = index;
  if (pool(left.pool).last == next) pool(left.pool).last = index;
  unused_.push_back(next);
}

std::int32_t CachingAllocator::new_block(const Block& made) {
  if (unused_.empty()) {
    blocks_.push_back(made);
    return static_cast<std::int32_t>(blocks_.size()) - 1;
  }
  const std::int32_t index = unused_.back();
  unused_.pop_back();
  block(index) = made;
  return index;
}

void CachingAllocator::insert_free(std::int32_t index) {
  Block& freed = block(index);
  freed.is_free = true;
  pool(freed.pool).free_blocks.insert(freed.size, freed.address, index);
}

void CachingAllocator::erase_free(std::int32_t index) {
  Block& used = block(index);
  used.is_free = false;
  pool(used.pool).free_blocks.erase(used.size, used.address);
}

namespace {

/// Finds the first product of forward and of backward, the two threads that multiply.
class FirstProducts {
 public:
  explicit FirstProducts(const Recording& recording) : recording_(recording) {}

  /// Whether the next event of the recording allocates the result of one.
  bool at(Event event) {
    while (next_phase_ < recording_.phases.size() && recording_.phases[next_phase_].first_event <= position_)
      backward_ = recording_.phases[next_phase_++].phase == Phase::backward;
    ++position_;
    bool& found = backward_ ? in_backward_ : in_forward_;
    if (found || !allocates(event)) return false;
    const Rule* rule = recording_.storage_of(event).made_by;
    return found = rule != nullptr && rule->takes_handle;
  }

 private:
  const Recording& recording_;
  std::size_t next_phase_ = 0;
  std::size_t position_ = 0;
  bool backward_ = false;
  bool in_forward_ = false;
  bool in_backward_ = false;
};

/// Calls `take` with every event of one of the recording's ranks.
template <class Take>
void for_each_event(const Recording& recording, std::size_t rank, Take take) {
  std::size_t next = 0;
  if (rank > 0) {
    for (const DividedStretch& stretch : recording.divided) {
      for (; next < stretch.first_event; ++next) take(recording.events[next]);
      for (const Event event : stretch.of_others[rank - 1]) take(event);
      next = stretch.end_event;
    }
  }
  for (; next < recording.events.size(); ++next) take(recording.events[next]);
}

}  // namespace

Replay replay(const Recording& recording, AllocatorOptions options, std::size_t rank, Bytes handle_workspace) {
  CachingAllocator allocator(options);
  std::vector<CachingAllocator::Handle> handles(recording.storages.size(), CachingAllocator::no_block);
  FirstProducts first_products(recording);
  for_each_event(recording, rank, [&](Event event) {
    CachingAllocator::Handle& handle = handles[storage_index(event)];
    if (allocates(event)) {
      const StorageRecord& storage = recording.storage_of(event);
      handle = allocator.allocate(storage.bytes, storage.stream);
    } else {
      allocator.free(handle);
    }
    if (handle_workspace > 0 && first_products.at(event)) allocator.allocate(handle_workspace, Stream::compute);
  });
  Replay result;
  result.peak_allocated = allocator.requested().peak;
  result.peak_blocks = allocator.blocks().peak;
  result.peak_reserved = allocator.reserved();
  for (int index = 0; index < stream_count; ++index) {
    const auto stream = static_cast<Stream>(index);
    result.pools[static_cast<std::size_t>(index)] = allocator.requested(stream).peak;
    result.reserved[static_cast<std::size_t>(index)] = allocator.reserved(stream);
  }
  return result;
}

Bytes highest_reserved(const Recording& recording, AllocatorOptions options, Bytes handle_workspace) {
  const std::size_t others = recording.divided.empty() ? 0 : recording.divided.front().of_others.size();
  Bytes highest = 0;
  for (std::size_t rank = 0; rank <= others; ++rank)
    highest = std::max(highest, replay(recording, options, rank, handle_workspace).peak_reserved);
  return highest;
}

}  // namespace trainmem
