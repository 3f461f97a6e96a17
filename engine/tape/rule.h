// Why a storage was made, or is kept.
#pragma once

#include <cstdint>

namespace trainmem {

/// Another stream than a block's own that may still use it when it is freed (Tensor.record_stream).
enum class StillUsed : std::uint8_t { no, by_compute, by_reduction };

/// One line of the rule book: an operation, what it keeps for backward and why, and where that stands.
struct Rule {
  const char* name;                      ///< the operation, as the source calls it
  const char* keeps;                     ///< what is kept and why, for readers; empty: nothing
  const char* source;                    ///< project, file and function
  bool takes_handle = false;             ///< PyTorch asks for a cuBLAS handle once the result is allocated
  StillUsed still_used = StillUsed::no;  ///< when the result is freed
};

}  // namespace trainmem
