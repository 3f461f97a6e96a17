// A storage of a recording in words, and the one that an event means.
#pragma once

#include <string>

#include "engine/tape.h"

namespace trainmem {

/// Index into Recording::storages of what an event allocates or frees.
std::size_t storage_index(std::int32_t event);

/// "attention: query 'role' 2x1024x768": place, rule, role and shape.
std::string storage_text(const Recording& recording, const StorageRecord& storage);

}  // namespace trainmem
