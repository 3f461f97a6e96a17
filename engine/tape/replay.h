// A recorded run through PyTorch's caching allocator.
#pragma once

#include <array>
#include <cstdint>

#include "engine/tape/allocator.h"
#include "engine/tape/tape.h"

namespace trainmem {

struct ReplayOptions {
  AllocatorOptions allocator{};
  /// What each of the two cuBLAS handles, of forward's thread and of autograd's, takes at its first product and keeps
  /// (ATen/cuda/CUDABlas.cpp: a product's result is allocated before it asks for a handle).
  Bytes handle_workspace = 0;
  bool runs_ahead = false;  ///< the CPU, of a GPU: see run_ahead.h. Recorded steps had no GPU
  std::size_t rank = 0;     ///< one of the recording's ranks: see DividedStretch; 0: the first
};

/// What a whole run leaves in the allocator's counters.
struct Replay {
  Bytes peak_allocated = 0;  ///< requests, each rounded up to 512
  Bytes peak_blocks = 0;     ///< max_memory_allocated(): the blocks that serve them, up to 1 MiB larger each
  Bytes peak_reserved = 0;   ///< max_memory_reserved()
  std::array<Bytes, stream_count> pools{};  ///< highest requests in use on each stream
  std::array<Bytes, stream_count> reserved{};
  AtCapacity at_limit;
};

/// Replays every event of a recording, from an empty allocator, until it runs out of memory.
Replay replay(const Recording& recording, const ReplayOptions& options = {});

/// Does one run out of memory and the other not, free cached memory more often (in each step, or at all), or reserve
/// more?
bool is_worse(const Replay& one, const Replay& other);

/// The worst replay of the ranks that were recorded.
Replay worst_replay(const Recording& recording, ReplayOptions options);

}  // namespace trainmem
