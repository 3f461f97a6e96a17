// A recorded event stream: every allocation of two training steps, as tests/traces/events/*.json hold them.
#pragma once

#include <string>

#include "engine/tape/tape.h"

namespace trainmem {

struct EventStream {
  std::string title;
  Recording recording;  ///< storages (bytes, stream), events and phases; rows are not known
  Bytes peak_allocated = 0;
  Bytes peak_reserved = 0;
  Bytes peak_reserved_expandable = 0;
};

/// Reads one file. Throws std::runtime_error when it is not of that form.
EventStream read_event_stream(const std::string& path);

}  // namespace trainmem
