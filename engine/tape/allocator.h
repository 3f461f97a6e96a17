// PyTorch's CUDA caching allocator on sizes: what torch.cuda.memory_reserved() counts.
//
// Sizes round up to 512 B. Each stream has a small pool (requests up to 1 MiB, segments of 2 MiB) and a large
// pool (below 10 MiB segments of 20 MiB, else the request rounded up to 2 MiB). The smallest free block that
// fits is taken, lowest address first, and split when enough is left; freed neighbours merge; segments stay.
// With expandable segments each pool is one range of addresses, of which units of 2 MiB or 20 MiB are mapped.
// What no free block serves takes new memory. Where the GPU has no more, the CPU waits for all other streams, segments
// that are wholly free, and units that are, are given back, and the request is tried again.
// Source: c10/cuda/CUDACachingAllocator.cpp (malloc, round_size, get_allocation_size, get_free_block, should_split,
// find_expandable_block, map_block, unmap_block, release_cached_blocks, free_block).
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/tape/free_blocks.h"
#include "engine/tape/tape.h"

namespace trainmem {

struct AllocatorOptions {
  bool expandable_segments = false;
  Bytes limit = 0;  ///< what all segments together may take; 0: no limit
};

/// Bytes now and the most there ever were.
struct Counter {
  Bytes current = 0;
  Bytes peak = 0;
};

/// The allocator of one GPU.
class CachingAllocator {
 public:
  /// A block in use; no_block for a request of zero bytes, or for one that there is no memory for.
  using Handle = std::int32_t;
  static constexpr Handle no_block = -1;

  explicit CachingAllocator(AllocatorOptions options = {});

  /// Takes memory for `bytes` from the pool of `stream`. Zero bytes take nothing.
  Handle allocate(Bytes bytes, Stream stream);

  /// Gives a block back to its pool. no_block is ignored.
  void free(Handle handle);

  /// Frees a block that another stream still uses: it is allocated no longer, but its pool has it back only when
  /// reached() says that the GPU has done what comes before `event` (insert_events, process_events).
  void free_after(Handle handle, std::int64_t event);

  /// The GPU has done what comes before this event, and before earlier ones.
  void reached(std::int64_t event);

  const Counter& requested() const { return requested_; }  ///< requests in use, each rounded up to 512
  const Counter& requested(Stream stream) const { return stream_requested_[static_cast<std::size_t>(stream)]; }
  const Counter& blocks() const { return blocks_in_use_; }  ///< blocks in use, with what a split did not cut off
  const Counter& reserved() const { return reserved_; }     ///< all segments
  Bytes reserved(Stream stream) const;
  std::int64_t retries() const { return retries_; }  ///< num_alloc_retries: requests for which cached memory was freed

 private:
  enum class State : std::uint8_t { unused, in_use, waiting, free, unmapped };
  struct Block {
    Bytes address;
    Bytes size;
    Bytes requested;
    std::int32_t previous;  // neighbours within the segment; no_block at its ends
    std::int32_t next;
    std::int32_t pool;
    State state;
  };
  struct Pool {
    FreeBlocks free_blocks;
    std::vector<std::int32_t> unmapped;  // expandable segments: blocks of addresses without memory, lowest first
    Bytes reserved = 0;
  };

  Block& block(std::int32_t index) { return blocks_[static_cast<std::size_t>(index)]; }
  Pool& pool(std::int32_t index) { return pools_[static_cast<std::size_t>(index)]; }
  static bool is_small(std::int32_t pool) { return pool % 2 == 0; }

  void count_out(std::int32_t index);
  bool is(std::int32_t index, State state) { return index != no_block && block(index).state == state; }

  std::int32_t free_block(std::int32_t pool_index, Bytes size);
  std::int32_t new_memory(std::int32_t pool_index, Bytes size);
  std::int32_t new_segment(std::int32_t pool_index, Bytes size);
  std::int32_t grow_segment(std::int32_t pool_index, Bytes size);
  std::int32_t growing_place(std::int32_t pool_index, Bytes size);
  std::int32_t map(std::int32_t index, Bytes size);
  void unmap(std::int32_t index);
  void release_cached();
  bool reserve(std::int32_t pool_index, Bytes bytes);
  std::int32_t split(std::int32_t index, Bytes size);
  std::int32_t merge(std::int32_t index);
  void absorb_next(std::int32_t index);
  void discard(std::int32_t index);
  void insert_unmapped(std::int32_t index);
  void erase_unmapped(std::int32_t index);
  std::int32_t new_block(const Block& block);
  void insert_free(std::int32_t index);
  void erase_free(std::int32_t index);

  AllocatorOptions options_;
  std::vector<Block> blocks_;
  std::vector<std::int32_t> unused_;                      // entries of blocks_ that are free for another block
  std::vector<std::pair<std::int64_t, Handle>> waiting_;  // events and the blocks that wait for them
  std::array<Pool, 2 * stream_count> pools_;              // small and large of each stream
  Bytes next_address_ = 0;
  Counter reserved_;
  std::int64_t retries_ = 0;
  Counter requested_;
  Counter blocks_in_use_;
  std::array<Counter, stream_count> stream_requested_;
};

}  // namespace trainmem
