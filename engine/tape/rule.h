// Why a storage was made, or is kept.
#pragma once

namespace trainmem {

/// One line of the rule book: an operation, what it keeps for backward and why, and where that stands.
struct Rule {
  const char* name;           ///< the operation, as the source calls it
  const char* keeps;          ///< what is kept and why, for readers; empty: nothing
  const char* source;         ///< project, file and function
  bool takes_handle = false;  ///< PyTorch asks for a cuBLAS handle once the result is allocated
};

}  // namespace trainmem
