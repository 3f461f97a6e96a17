// Megatron's options of experts that mean something only together, or with the model's other sizes.
#pragma once

#include "engine/launch/format.h"

namespace trainmem {

void read_megatron_experts(SettingsReading& reading);
void write_megatron_experts(const Config& config, Settings& out);

}  // namespace trainmem
