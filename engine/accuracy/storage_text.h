// A storage of a recording in words.
#pragma once

#include <string>

#include "engine/tape/tape.h"

namespace trainmem {

/// "attention: query 'role' 2x1024x768": place, rule, role and shape.
std::string storage_text(const Recording& recording, const StorageRecord& storage);

}  // namespace trainmem
