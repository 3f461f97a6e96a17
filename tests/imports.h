// What a test asks of an import.
#pragma once

#include <string>

#include "engine/config/text.h"
#include "engine/launch/import.h"

namespace trainmem {

/// The field's value, as text.
inline std::string value(const Import& import, const char* path) {
  return value_text(*find_field_by_path(path), import.config);
}

/// Why a key was not used; "used" if it was.
inline std::string why(const Import& import, const std::string& key) {
  for (const UnusedKey& one : import.unused) {
    if (one.key == key) return one.why;
  }
  return "used";
}

inline bool is_unused(const Import& import, const std::string& key) { return why(import, key) != "used"; }

}  // namespace trainmem
