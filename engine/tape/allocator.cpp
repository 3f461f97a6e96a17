// The caching allocator on sizes.
#include "engine/tape/allocator.h"

#include <algorithm>
#include <limits>

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

constexpr Bytes mapped_unit(bool small) { return small ? small_segment : large_segment; }

void add(Counter& counter, Bytes bytes) {
  counter.current += bytes;
  counter.peak = std::max(counter.peak, counter.current);
}

}  // namespace

CachingAllocator::CachingAllocator(AllocatorOptions options) : options_(options) {
  if (!options.expandable_segments) return;
  for (std::int32_t index = 0; index < 2 * stream_count; ++index) {
    const Bytes address = address_space * index;
    insert_unmapped(new_block({address, address_space, 0, no_block, no_block, index, State::unmapped}));
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

  std::int32_t index = free_block(from, size);
  if (index == no_block) index = new_memory(from, size);
  if (index == no_block) {
    release_cached();
    ++retries_;
    index = new_memory(from, size);
  }
  if (index == no_block) return no_block;

  const Bytes rest = block(index).size - size;
  const bool splits_closely = is_small(from) || options_.expandable_segments;
  if (splits_closely ? rest >= min_block : rest > small_size) insert_free(split(index, size));

  Block& taken = block(index);
  taken.state = State::in_use;
  taken.requested = size;
  add(requested_, size);
  add(stream_requested_[static_cast<std::size_t>(stream)], size);
  add(blocks_in_use_, taken.size);
  return index;
}

void CachingAllocator::count_out(std::int32_t index) {
  const Block& freed = block(index);
  requested_.current -= freed.requested;
  stream_requested_[static_cast<std::size_t>(freed.pool / 2)].current -= freed.requested;
  blocks_in_use_.current -= freed.size;
}

void CachingAllocator::free(Handle handle) {
  if (handle == no_block) return;
  count_out(handle);
  block(handle).state = State::free;
  insert_free(merge(handle));
}

void CachingAllocator::free_after(Handle handle, std::int64_t event) {
  if (handle == no_block) return;
  count_out(handle);
  block(handle).state = State::waiting;
  waiting_.emplace_back(event, handle);
}

void CachingAllocator::reached(std::int64_t event) {
  const auto still_waits = [event](const auto& each) { return each.first > event; };
  const auto done = std::stable_partition(waiting_.begin(), waiting_.end(), still_waits);
  for (auto each = done; each != waiting_.end(); ++each) {
    block(each->second).state = State::free;
    insert_free(merge(each->second));
  }
  waiting_.erase(done, waiting_.end());
}

// Best fit. A block before unmapped addresses counts as large as it can become (get_free_block, expandable_size).
std::int32_t CachingAllocator::free_block(std::int32_t pool_index, Bytes size) {
  FreeBlocks& blocks = pool(pool_index).free_blocks;
  if (!options_.expandable_segments) return blocks.take(size);
  return blocks.take(size, [this](std::int32_t index) {
    const std::int32_t next = block(index).next;
    return block(index).size + (is(next, State::unmapped) ? block(next).size : 0);
  });
}

std::int32_t CachingAllocator::new_memory(std::int32_t pool_index, Bytes size) {
  return options_.expandable_segments ? grow_segment(pool_index, size) : new_segment(pool_index, size);
}

/// Takes bytes of the GPU; false: it has no more.
bool CachingAllocator::reserve(std::int32_t pool_index, Bytes bytes) {
  if (options_.limit > 0 && reserved_.current + bytes > options_.limit) return false;
  pool(pool_index).reserved += bytes;
  add(reserved_, bytes);
  return true;
}

std::int32_t CachingAllocator::new_segment(std::int32_t pool_index, Bytes size) {
  const Bytes bytes = segment_size(size);
  if (!reserve(pool_index, bytes)) return no_block;
  next_address_ += bytes;
  return new_block({next_address_ - bytes, bytes, 0, no_block, no_block, pool_index, State::free});
}

// Maps as many units as the request needs beyond the free blocks in its place (try_allocate_expandable_block).
std::int32_t CachingAllocator::grow_segment(std::int32_t pool_index, Bytes size) {
  std::int32_t at = growing_place(pool_index, size);
  if (is(at, State::unmapped)) at = map(at, size);
  while (at != no_block && block(at).size < size) at = map(block(at).next, size - block(at).size);
  if (at != no_block) erase_free(at);
  return at;
}

/// The first free or unmapped block from which on `size` bytes are in no use (find_expandable_block).
std::int32_t CachingAllocator::growing_place(std::int32_t pool_index, Bytes size) {
  for (const std::int32_t index : pool(pool_index).unmapped) {
    const std::int32_t previous = block(index).previous;
    const std::int32_t first = is(previous, State::free) ? previous : index;
    Bytes room = 0;
    for (std::int32_t at = first; room < size && at != no_block && !is(at, State::in_use); at = block(at).next)
      room += block(at).size;
    if (room >= size) return first;
  }
  return no_block;
}

/// Maps units at the begin of an unmapped block and returns the free block that they are part of then.
std::int32_t CachingAllocator::map(std::int32_t index, Bytes size) {
  const std::int32_t pool_index = block(index).pool;
  const Bytes bytes = round_up(std::min(size, block(index).size), mapped_unit(is_small(pool_index)));
  if (!reserve(pool_index, bytes)) return no_block;
  erase_unmapped(index);
  if (bytes < block(index).size) {
    const std::int32_t rest = split(index, bytes);
    block(rest).state = State::unmapped;
    insert_unmapped(rest);
  }
  block(index).state = State::free;
  index = merge(index);
  insert_free(index);
  return index;
}

/// Gives back the whole units of a free block.
void CachingAllocator::unmap(std::int32_t index) {
  const std::int32_t pool_index = block(index).pool;
  const Bytes unit = mapped_unit(is_small(pool_index));
  const Bytes base = address_space * pool_index;
  const Bytes begin = block(index).address - base;
  const Bytes first = round_up(begin, unit);
  const Bytes end = (begin + block(index).size) / unit * unit;
  if (first >= end) return;
  erase_free(index);
  if (first > begin) {
    const std::int32_t rest = split(index, first - begin);
    insert_free(index);
    index = rest;
  }
  if (block(index).size > end - first) insert_free(split(index, end - first));
  pool(pool_index).reserved -= end - first;
  reserved_.current -= end - first;
  block(index).state = State::unmapped;
  insert_unmapped(merge(index));
}

/// Gives back all that no block in use shares a segment, or a unit of an expandable one, with.
void CachingAllocator::release_cached() {
  reached(std::numeric_limits<std::int64_t>::max());
  const auto count = static_cast<std::int32_t>(blocks_.size());
  for (std::int32_t index = 0; index < count; ++index) {
    if (!is(index, State::free)) continue;
    if (options_.expandable_segments) {
      unmap(index);
    } else if (block(index).previous == no_block && block(index).next == no_block) {
      erase_free(index);
      pool(block(index).pool).reserved -= block(index).size;
      reserved_.current -= block(index).size;
      discard(index);
    }
  }
}

// Cuts a block down to `size` and returns the rest, a free block after it that no list has yet.
std::int32_t CachingAllocator::split(std::int32_t index, Bytes size) {
  const Block whole = block(index);
  const std::int32_t rest =
      new_block({whole.address + size, whole.size - size, 0, index, whole.next, whole.pool, State::free});
  if (whole.next != no_block) block(whole.next).previous = rest;
  block(index).next = rest;
  block(index).size = size;
  return rest;
}

/// Joins a block that no list has with neighbours of its state, which leave theirs, and returns the whole.
std::int32_t CachingAllocator::merge(std::int32_t index) {
  const State state = block(index).state;
  const std::int32_t next = block(index).next;
  const auto leave = [&](std::int32_t neighbour) {
    state == State::free ? erase_free(neighbour) : erase_unmapped(neighbour);
  };
  if (is(next, state)) {
    leave(next);
    absorb_next(index);
  }
  const std::int32_t previous = block(index).previous;
  if (!is(previous, state)) return index;
  leave(previous);
  absorb_next(previous);
  return previous;
}

void CachingAllocator::absorb_next(std::int32_t index) {
  Block& left = block(index);
  const std::int32_t next = left.next;
  const Block& right = block(next);
  left.size += right.size;
  left.next = right.next;
  if (right.next != no_block) block(right.next).previous = index;
  discard(next);
}

void CachingAllocator::discard(std::int32_t index) {
  block(index).state = State::unused;
  unused_.push_back(index);
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
  const Block& freed = block(index);
  pool(freed.pool).free_blocks.insert(freed.size, freed.address, index);
}

void CachingAllocator::insert_unmapped(std::int32_t index) {
  std::vector<std::int32_t>& unmapped = pool(block(index).pool).unmapped;
  const auto is_before = [this](std::int32_t one, std::int32_t other) {
    return block(one).address < block(other).address;
  };
  unmapped.insert(std::lower_bound(unmapped.begin(), unmapped.end(), index, is_before), index);
}

void CachingAllocator::erase_unmapped(std::int32_t index) {
  std::vector<std::int32_t>& unmapped = pool(block(index).pool).unmapped;
  unmapped.erase(std::find(unmapped.begin(), unmapped.end(), index));
}

void CachingAllocator::erase_free(std::int32_t index) {
  const Block& used = block(index);
  pool(used.pool).free_blocks.erase(used.size, used.address);
}

}  // namespace trainmem
