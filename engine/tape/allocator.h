// PyTorch's CUDA caching allocator on sizes: what torch.cuda.memory_reserved() counts.
//
// Sizes round up to 512 B. Each stream has a small pool (requests up to 1 MiB, segments of 2 MiB) and a large
// pool (below 10 MiB segments of 20 MiB, else the request rounded up to 2 MiB). The smallest free block that
// fits is taken, lowest address first, and split when enough is left; freed neighbours merge; segments stay.
// With expandable segments each pool is one segment that grows at its end in units of 2 MiB or 20 MiB.
// Source: c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size, get_free_block, should_split,
// try_allocate_expandable_block, free_block).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/tape/free_blocks.h"
#include "engine/tape/tape.h"

namespace trainmem {

struct AllocatorOptions {
  bool expandable_segments = false;
};

/// Bytes now and the most there ever were.
struct Counter {
  Bytes current = 0;
  Bytes peak = 0;
};

/// The allocator of one GPU that never runs out of memory.
class CachingAllocator {
 public:
  /// A block in use; no_block for a request of zero bytes.
  using Handle = std::int32_t;
  static constexpr Handle no_block = -1;

  explicit CachingAllocator(AllocatorOptions options = {});

  /// Takes memory for `bytes` from the pool of `stream`. Zero bytes take nothing.
  Handle allocate(Bytes bytes, Stream stream);

  /// Gives a block back to its pool. no_block is ignored.
  void free(Handle handle);

  const Counter& requested() const { return requested_; }  ///< requests in use, each rounded up to 512
  const Counter& requested(Stream stream) const { return stream_requested_[static_cast<std::size_t>(stream)]; }
  const Counter& blocks() const { return blocks_in_use_; }  ///< blocks in use, with what a split did not cut off
  Bytes reserved() const { return reserved_; }              ///< all segments
  Bytes reserved(Stream stream) const;

 private:
  struct Block {
    Bytes address;
    Bytes size;
    Bytes requested;
    std::int32_t previous;  // neighbours within the segment; no_block at its ends
    std::int32_t next;
    std::int32_t pool;
    bool is_free;
  };
  struct Pool {
    FreeBlocks free_blocks;
    std::int32_t last = no_block;  // expandable segments: the block at the segment's end
    Bytes mapped_end = 0;          // expandable segments: address after it
    Bytes reserved = 0;
  };

  Block& block(std::int32_t index) { return blocks_[static_cast<std::size_t>(index)]; }
  Pool& pool(std::int32_t index) { return pools_[static_cast<std::size_t>(index)]; }
  static bool is_small(std::int32_t pool) { return pool % 2 == 0; }

  std::int32_t new_segment(std::int32_t pool_index, Bytes size);
  std::int32_t grow_segment(std::int32_t pool_index, Bytes size);
  void split(std::int32_t index, Bytes size);
  void absorb_next(std::int32_t index);
  std::int32_t new_block(const Block& block);
  void insert_free(std::int32_t index);
  void erase_free(std::int32_t index);

  AllocatorOptions options_;
  std::vector<Block> blocks_;
  std::vector<std::int32_t> unused_;          // entries of blocks_ that merging left over
  std::array<Pool, 2 * stream_count> pools_;  // small and large of each stream
  Bytes next_address_ = 0;
  Bytes reserved_ = 0;
  Counter requested_;
  Counter blocks_in_use_;
  std::array<Counter, stream_count> stream_requested_;
};

/// What a whole run leaves in the allocator's counters.
struct Replay {
  Bytes peak_allocated = 0;  ///< requests, each rounded up to 512
  Bytes peak_blocks = 0;     ///< max_memory_allocated(): the blocks that serve them, up to 1 MiB larger each
  Bytes peak_reserved = 0;   ///< max_memory_reserved()
  std::array<Bytes, stream_count> pools{};  ///< highest requests in use on each stream
  std::array<Bytes, stream_count> reserved{};
};

/// Replays every event of a recording, from an empty allocator, as one of its ranks: see DividedStretch; 0: the first.
/// `handle_workspace`: what each of the two cuBLAS handles, of forward's thread and of autograd's, takes at its first
/// product and keeps (ATen/cuda/CUDABlas.cpp: a product's result is allocated before it asks for a handle).
Replay replay(const Recording& recording, AllocatorOptions options = {}, std::size_t rank = 0,
              Bytes handle_workspace = 0);

/// max_memory_reserved() of the rank that reserves most, of those that were recorded.
Bytes highest_reserved(const Recording& recording, AllocatorOptions options, Bytes handle_workspace);

}  // namespace trainmem
