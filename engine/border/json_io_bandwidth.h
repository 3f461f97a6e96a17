// From the bandwidth part of a result to JSON: exactly its members.
#pragma once

#include "engine/border/json_writer.h"
#include "engine/result.h"

namespace trainmem {

void write_bandwidth(const Bandwidth& step, JsonWriter& out);

}  // namespace trainmem
