// One field's value as JSON.
#pragma once

#include "engine/border/json_writer.h"
#include "engine/config/fields.h"

namespace trainmem {

void write_value(const Field& field, const Config& config, JsonWriter& out);

}  // namespace trainmem
