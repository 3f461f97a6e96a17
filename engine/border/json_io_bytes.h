// Ranges and components as JSON: what results, advice and sweeps have in common.
#pragma once

#include "engine/result.h"
#include "engine/text/json_writer.h"

namespace trainmem {

void write_range(const Range& range, JsonWriter& out);
void write_components(const ComponentBytes& components, JsonWriter& out);

}  // namespace trainmem
