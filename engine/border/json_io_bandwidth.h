// From the bandwidth part of a result to JSON: exactly its members.
#pragma once

#include "engine/result.h"
#include "engine/text/json_writer.h"

namespace trainmem {

void write_bandwidth(const Bandwidth& step, JsonWriter& out);

}  // namespace trainmem
